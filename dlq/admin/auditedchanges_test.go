package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"outboxrelay/dlq"
)

// said puts a reason into a body that has none.
func said(body string) string {
	switch {
	case strings.Contains(body, `"reason"`):
		return body
	case body == "":
		return because
	}
	return strings.TrimSuffix(body, "}") + `,"reason":"because"}`
}

// audited reads the whole audit, by the entries' IDs.
func (q *realQueue) audited() map[string]*dlq.Entry {
	q.t.Helper()
	all := make(map[string]*dlq.Entry)
	for p := (dlq.Page{Limit: dlq.MaxPage}); ; {
		page, err := q.Audit(q.t.Context(), dlq.AuditFilter{}, p)
		if err != nil {
			q.t.Fatal(err)
		}
		for _, e := range page.Items {
			all[e.ID] = e
		}
		if page.Next == "" {
			return all
		}
		p.Token = page.Next
	}
}

// Whatever changes something says in the audit who did it, when and why; what only looks
// leaves nothing there. It asks for each operation of the OpenAPI document, so that a new
// one cannot be left out.
func TestEveryChangeIsAudited(t *testing.T) {
	q := embedded(t)
	f := setup(t, over(q, q.catalog), unlimited)
	changes := 0
	for _, e := range endpoints {
		if strings.HasPrefix(e.pattern, "/queues") {
			continue // the desk's, which has a test of its own
		}
		target, body, _ := q.ready(e)
		if e.method == http.MethodPost {
			body = said(body)
		}
		before := q.audited()
		if got := f.do("dev-security-2", e.method, target, body); got.status != e.status {
			t.Fatalf("%s %s: got %d, want %d: %s", e.method, e.pattern, got.status, e.status, got.body)
		}
		var fresh []*dlq.Entry
		for id, entry := range q.audited() {
			if before[id] == nil {
				fresh = append(fresh, entry)
			}
		}
		if e.method != http.MethodPost {
			if len(fresh) > 0 {
				t.Errorf("%s %s, which only looks, is audited: %+v", e.method, e.pattern, fresh[0])
			}
			continue
		}
		changes++
		if len(fresh) != 1 {
			t.Errorf("%s %s left %d entries in the audit, want 1", e.method, e.pattern, len(fresh))
			continue
		}
		if got := fresh[0]; got.Actor != "dev-security-2" || got.Role != dlq.Security || !strings.HasSuffix(got.Reason, "because") || got.At.IsZero() || got.Action == "" || got.On == "" {
			t.Errorf("%s %s is audited as %+v", e.method, e.pattern, got)
		}
	}
	t.Logf("%d changes", changes)
}
