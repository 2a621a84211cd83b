package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/console"
	"outboxrelay/dlq/follower"
)

// A dead letter whose record names no trace tells all the same that its aggregate is frozen.
func TestALetterWithoutATraceTellsItsFreeze(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "RoleChanged", "acc-1", 1, func(i *dlq.Item) { i.TraceID = "" })
	status, page := f.person("dev-security").get(itemPath(i))
	for _, want := range []string{"acc-1 is frozen since", "There is no timeline: its record names no trace", "acc-1 stays frozen"} {
		if status != http.StatusOK || !strings.Contains(plain(page), want) {
			t.Errorf("status %d, and %q is not told: %s", status, want, plain(page))
		}
	}
}

// What a trace consists of is looked for in every outbox. Where that fails, or takes too
// long, the dead letter is shown and decided about all the same.
func TestALetterIsShownWhereItsTraceIsNot(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "RoleChanged", "acc-1", 1)
	api := f.api(f.store, f.queue, func(*admin.Config) {})
	c, err := console.New(console.Config{
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Path, admin.Prefix+"/trace/") {
				api.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"status":503,"detail":"Firestore did not answer within 15s: DeadlineExceeded","hint":"x"}`))
		}),
		Authenticator: f.who, Mode: f.mode, Catalog: f.catalog, Changes: follower.New(f.queue, f.log()), Status: f.status, Bells: f.work, Log: f.log(),
	})
	f.must(err)
	t.Cleanup(c.Close)
	handler := http.Handler(c)
	f.handler.Store(&handler)
	status, page := f.person("dev-security").get(itemPath(i))
	for _, want := range []string{"What may be done now", "Authorize its replay", "acc-1 is frozen since", "There is no timeline: Firestore did not answer within 15s: DeadlineExceeded."} {
		if status != http.StatusOK || !strings.Contains(plain(page), want) {
			t.Errorf("status %d, and %q is not told: %s", status, want, plain(page))
		}
	}
}

// An aggregate whose ID is too long to ask for its freeze is that of a broken record: its
// dead letter is shown and decided about all the same.
func TestALetterIsShownWhereItsFreezeCannotBeAskedFor(t *testing.T) {
	f := setup(t)
	for n, length := range []int{1600, 9000} {
		i := f.die("accOutbox", "RoleChanged", strings.Repeat("x", length), int64(n+1), func(i *dlq.Item) {
			i.ID, i.TraceID = fmt.Sprintf("7f0c:long:%d", n), ""
		})
		status, page := f.person("dev-security").get(itemPath(i))
		if status != http.StatusOK || !strings.Contains(plain(page), "What may be done now") {
			t.Errorf("with %d bytes: status %d: %.1000s", length, status, plain(page))
		}
	}
}
