package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"outboxrelay/dlq/admin/auth/authtest"
)

func TestAccessLogAndMetrics(t *testing.T) {
	f := setup(t)
	token := issuer().RS256(authtest.Google("x@example.com", audience))
	f.do("dev-operator", http.MethodPost, "/dlq/secret-id/replay", `{"reason":"secret reason"}`)
	f.do("dev-viewer", http.MethodPost, "/dlq/secret-id/replay", because)
	f.do("dev-viewer", http.MethodGet, "/dlq", "")
	f.do(token, http.MethodPost, "/dlq/secret-id/replay", because)
	f.do("dev-viewer", "BREW", "/dlq", "")

	lines := f.logs.FilterMessage("admin request").All()
	if len(lines) != 3 {
		t.Fatalf("%d lines, want one for each request that might change something, of somebody known", len(lines))
	}
	got := lines[0].ContextMap()
	for name, want := range map[string]any{
		"identity": "dev-operator", "role": "operator", "method": "POST", "route": "/dlq/{id}/replay", "traceId": "trace-1", "status": int64(202),
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	for _, line := range f.logs.All() {
		if text := fmt.Sprint(line.Message, line.ContextMap()); strings.Contains(text, "secret") || strings.Contains(text, token[:40]) || strings.Contains(text, "Bearer") {
			t.Errorf("a line tells too much: %s", text)
		}
	}
	for _, x := range []struct {
		route, method, class string
		n                    float64
	}{{"/dlq/{id}/replay", "POST", "2xx", 1}, {"/dlq/{id}/replay", "POST", "4xx", 1}, {"unmatched", "POST", "4xx", 1}, {"/dlq", "GET", "2xx", 1}, {"unmatched", "other", "4xx", 1}} {
		if got := f.counter(x.route, x.method, x.class); got != x.n {
			t.Errorf("%v: counted %v", x, got)
		}
	}
	reads := 0
	for _, e := range endpoints {
		if e.method == http.MethodGet {
			reads++ // has a HEAD beside it
		}
	}
	if want := 3 * (len(endpoints) + reads + 4); f.series() != want {
		t.Errorf("%d series, want %d: all are known beforehand", f.series(), want)
	}
}

func (f *fixture) counter(route, method, class string) float64 {
	f.t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := make(map[string]string)
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if family.GetName() == "relay_admin_requests_total" && labels["route"] == route && labels["method"] == method && labels["class"] == class {
				return m.GetCounter().GetValue()
			}
		}
	}
	f.t.Errorf("there is no series of %s %s %s", route, method, class)
	return 0
}

// series counts those of the requests.
func (f *fixture) series() int {
	f.t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "relay_admin_requests_total" {
			return len(family.GetMetric())
		}
	}
	return 0
}
