package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// targets are a thing of each kind that can be acted upon: their IDs by the names
// in the console's patterns.
type targets struct {
	letters map[contracts.Tier]*dlq.Item
	bulk    string
	job     string // that may have been sent
	event   string
}

// targets makes them.
func (f *fixture) targets() *targets {
	f.t.Helper()
	out := &targets{letters: map[contracts.Tier]*dlq.Item{
		contracts.SafeAuto:       f.die("skillOutbox", "SkillXpAdded", "skill-1", 1),
		contracts.ReviewRequired: f.die("accOutbox", "WalletDeducted", "acc-1", 1),
		contracts.SecurityBlock:  f.die("accOutbox", "RoleChanged", "acc-2", 1),
	}}
	b, err := f.queue.StartBulk(f.t.Context(), dlq.BulkRequest{
		Filter: dlq.Filter{AggregateID: "skill-1"}, Actor: dlq.Actor{Name: "dev-operator", Role: dlq.Operator}, Reason: "a test",
	})
	f.must(err)
	out.bulk = b.ID
	f.eventually("the bulk replay ends", func() bool {
		b, err := f.queue.Bulk(f.t.Context(), out.bulk)
		f.must(err)
		return !b.EndedAt.IsZero()
	})
	out.job = f.work.job("org-1", "failed", map[string]any{"lastError": "the worker died while it sent", "lastErrorCode": "MAYBE_SENT"})
	f.work.job("org-1", "processing", map[string]any{"lockedAt": time.Now().Add(-time.Hour)})
	f.work.job("org-2", "pending", map[string]any{"createdAt": time.Now().Add(-3 * time.Hour)})
	f.work.job("org-2", "sent", nil)
	out.event = f.work.event("failed", map[string]any{"lastError": "no such user", "lastErrorCode": "INVALID"})
	return out
}

// paths fills a pattern: with each dead letter, or with the one thing there is.
func (t *targets) paths(pattern string) []string {
	var out []string
	for _, i := range t.letters {
		id := i.ID
		if strings.HasPrefix(pattern, "/replays/") {
			id = t.bulk
		}
		if strings.HasPrefix(pattern, "/queues/") {
			id = t.job
		}
		out = append(out, strings.NewReplacer("{id}", url.PathEscape(id), "{aggregateId}", "acc-2", "{lane}", string(contracts.BackgroundLane), "{queue}", "jobs").Replace(pattern))
	}
	return out
}

// changes counts what the audit holds and what is open: whatever is decided shows there.
func (f *fixture) changes() int {
	f.t.Helper()
	audit, err := f.queue.Audit(f.t.Context(), dlq.AuditFilter{}, dlq.Page{Limit: 200})
	f.must(err)
	bulks, err := f.queue.Bulks(f.t.Context(), dlq.Page{Limit: 200})
	f.must(err)
	return len(audit.Items) + len(bulks.Items)
}

// order is a form with all that any action could ask for.
func order(etag string) url.Values {
	return url.Values{"reason": {"forged"}, "etag": {etag}, "as": {"dev-security"}, "back": {"/console/"}, "rate": {"10"}, "ratePerSecond": {"10"}, "confirm": {"yes"}, "eventType": {"WalletDeducted"}}
}

func TestForgedRequestsChangeNothing(t *testing.T) {
	f := setup(t)
	at := f.targets()
	before := f.changes()
	posts := f.console.Posts()
	if len(posts) < 10 {
		t.Fatalf("only %v are found", posts)
	}
	for _, pattern := range posts {
		for _, path := range at.paths(pattern) {
			for _, headers := range []map[string]string{
				{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
				{"Origin": "https://evil.example"}, // an older browser
				{"Sec-Fetch-Site": "same-site"},    // another service of the same domain
				{"Origin": "null"},
			} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/console"+path, strings.NewReader(order("*").Encode()))
				f.must(err)
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				for name, value := range headers {
					r.Header.Set(name, value)
				}
				status, page := f.person("dev-security").read(http.DefaultClient.Do(r))
				if status != http.StatusForbidden || !strings.Contains(page, "another origin") {
					t.Errorf("POST %s with %v: status %d", path, headers, status)
				}
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if after := f.changes(); after != before {
		t.Errorf("%d changes", after-before)
	}
}

// Whatever the page shows, the server refuses.
func TestViewerChangesNothing(t *testing.T) {
	f := setup(t)
	at := f.targets()
	before := f.changes()
	p := f.person("dev-viewer")
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, pattern := range f.console.Posts() {
		if pattern == "/identity" { // who one is in mode dev
			continue
		}
		for _, path := range at.paths(pattern) {
			if status, page := p.post(path, order(`"0"`)); status < http.StatusBadRequest {
				t.Errorf("POST %s: status %d: %.200s", path, status, plain(page))
			}
		}
	}
	refused, err := f.queue.Audit(t.Context(), dlq.AuditFilter{Actor: "dev-viewer"}, dlq.Page{Limit: 200})
	f.must(err)
	for _, e := range refused.Items {
		before++
		if e.Subject != dlq.SubjectAccess {
			t.Errorf("a viewer has done %s to %s %s", e.Action, e.Subject, e.On)
		}
	}
	if after := f.changes(); after != before {
		t.Errorf("%d changes", after-before)
	}
}

// The address of an action, loaded anew or pasted into a chat, leads to the page
// that it stands on.
func TestAddressOfActionLeadsToItsPage(t *testing.T) {
	f := setup(t)
	at := f.targets()
	for _, pattern := range f.console.Posts() {
		if pattern == "/identity" {
			continue
		}
		for _, path := range at.paths(pattern) {
			if status, page := f.person("dev-security").get(path); status != http.StatusOK {
				t.Errorf("GET %s: status %d: %.200s", path, status, plain(page))
			}
		}
	}
}

func TestPagesCannotBeFramedOrSniffed(t *testing.T) {
	f := setup(t)
	resp, err := f.person("dev-viewer").client.Get(f.url + "/console/")
	f.must(err)
	resp.Body.Close()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, part := range []string{"frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
		if !strings.Contains(resp.Header.Get("Content-Security-Policy"), part) {
			t.Errorf("the policy lacks %s", part)
		}
	}
}
