package admin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"outboxrelay/dlq/admin"
)

// FuzzRequests sends any query and body to the operations: nothing fails, every
// error is a problem document, and what is no good never reaches the queue.
func FuzzRequests(f *testing.F) {
	f.Add("tier=SAFE_AUTO&limit=3&open=true&from=2026-03-01T00:00:00Z", `{"reason":"because"}`, "7f0c:acc-1:3")
	f.Add("teir=x", `{"filter":{"tier":"SAFE_AUTO"},"dryRun":true,"ratePerSecond":1.5}`, "a%2Fb")
	f.Add("a;b", `{"filter":{"from":"2026-03-01T00:00:00Z","open":false}}`, "%252F")
	f.Add("%zz", `{"reason":"a","Reason":"b"}`, "..")
	f.Add("limit=1e3", `[[[[[[[[[[[[]]]]]]]]]]]]`, "groups")
	f.Add("=", "\xff", "%ff")
	fx := setup(f, func(c *admin.Config) { c.Log, c.RatePerSecond, c.Burst = nil, 1e9, 1e9 })
	f.Fuzz(func(t *testing.T, query, body, id string) {
		if strings.ContainsAny(id, "/?#") {
			id = "x"
		}
		for _, e := range endpoints {
			target := strings.NewReplacer("{id}", id, "{aggregateId}", id, "{lane}", id, "{traceId}", id).Replace(e.pattern)
			r := httptest.NewRequestWithContext(t.Context(), e.method, "http://127.0.0.1:8080/", strings.NewReader(body))
			u, err := r.URL.Parse("http://127.0.0.1:8080" + admin.Prefix + target)
			if err != nil {
				return // no server gets such a path
			}
			r.URL = u
			r.URL.RawQuery = query
			r.Header.Set("Authorization", "Bearer dev-security")
			r.Header.Set("Content-Type", "application/json")
			a := send(t, fx.handler, r)
			if !slices.Contains([]int{200, 202, 400, 404, 405, 413, 414, 422}, a.status) {
				t.Fatalf("%s %s: got %d: %s", e.method, r.URL, a.status, a.body)
			}
			if a.status >= 300 {
				continue
			}
			values, err := url.ParseQuery(query)
			if err != nil {
				t.Fatalf("%s %s was taken with a query that cannot be read", e.method, r.URL)
			}
			for name, list := range values {
				if len(list) != 1 || list[0] == "" {
					t.Fatalf("%s %s was taken with %s %q", e.method, r.URL, name, list)
				}
			}
			if e.method == http.MethodPost && body != "" && !json.Valid([]byte(body)) {
				t.Fatalf("%s %s was taken with %q", e.method, r.URL, body)
			}
		}
	})
}
