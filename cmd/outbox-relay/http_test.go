package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/cmd/outbox-relay/web"
	"outboxrelay/relay"
)

func get(t *testing.T, h http.Handler, method, path string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Result()
}

func TestServicePages(t *testing.T) {
	state := relay.Health{Ready: true}
	h := servicePages(func() (any, bool) { return state, state.Ready }, prometheus.NewRegistry())
	for _, tc := range []struct {
		method, path string
		stopping     bool
		want         int
		wantType     string
	}{
		{"GET", "/healthz", false, 200, "text/plain; charset=utf-8"},
		{"HEAD", "/healthz", false, 200, "text/plain; charset=utf-8"},
		{"GET", "/healthz", true, 200, "text/plain; charset=utf-8"},
		{"GET", "/readyz", false, 200, "application/json"},
		{"GET", "/readyz", true, 503, "application/json"},
		{"GET", "/metrics", false, 200, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"},
		{"GET", "/", false, 302, "text/html; charset=utf-8"},
		{"GET", "/healthz/more", false, 404, "application/problem+json"},
		{"GET", "/console/", false, 404, "application/problem+json"},
		{"POST", "/healthz", false, 405, "application/problem+json"},
		{"DELETE", "/readyz", false, 405, "application/problem+json"},
	} {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			state = relay.Health{Ready: !tc.stopping, Stopping: tc.stopping}
			resp := get(t, h, tc.method, tc.path)
			if resp.StatusCode != tc.want || resp.Header.Get("Content-Type") != tc.wantType {
				t.Errorf("status %d, type %q; want %d, %q", resp.StatusCode, resp.Header.Get("Content-Type"), tc.want, tc.wantType)
			}
		})
	}
}

func TestReadinessTellsTheState(t *testing.T) {
	want := relay.Health{Ready: false, Stopping: true, Reason: "the relay is stopping"}
	h := servicePages(func() (any, bool) { return want, want.Ready }, prometheus.NewRegistry())
	var got relay.Health
	if err := json.NewDecoder(get(t, h, "GET", "/readyz").Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestSiteLeadsToTheAdminAPI(t *testing.T) {
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	h := site{web.Pages{"/healthz": http.HandlerFunc(web.Alive)}, api, api}
	for path, want := range map[string]int{
		"/admin/v1": 418, "/admin/v1/dlq": 418, "/admin/v1/dlq/a%2Fb": 418,
		"/healthz": 200, "/admin/v10": 404, "/admin": 404, "/": 404,
	} {
		if got := get(t, h, "GET", path).StatusCode; got != want {
			t.Errorf("%s = %d, want %d", path, got, want)
		}
	}
}
