package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/admin/auth"
)

// outsider is the prefix of credentials that hold and whose owner has no role.
const outsider = "outsider-"

// withOutsiders knows outsiders besides those that it knows anyway.
type withOutsiders struct{ auth.Authenticator }

func (a withOutsiders) Authenticate(r *http.Request) (auth.Identity, error) {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "+outsider)
	if !ok {
		return a.Authenticator.Authenticate(r)
	}
	return auth.Identity{}, &auth.Refusal{Kind: auth.Forbidden, Code: "unknown_identity", Name: name, Detail: name + " has no role here", Hint: "h"}
}

func setupOutsiders(t *testing.T, change ...func(*admin.Config)) *fixture {
	t.Helper()
	return setup(t, append(change, func(c *admin.Config) { c.Authenticator = withOutsiders{c.Authenticator} })...)
}

// Who is known but has no role is told that, however many without a credential
// come from the same address.
func TestForbiddenIsNotCountedAmongStrangers(t *testing.T) {
	f := setupOutsiders(t)
	ask := func(who string) int { return f.do(who, http.MethodGet, "/lanes", "").status }
	last := 0
	for range 2001 {
		last = ask("garbage")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the last stranger gets %d", last)
	}
	if got := ask(outsider + "mallory"); got != http.StatusForbidden {
		t.Errorf("got %d", got)
	}
}

func TestRateLimitOfOutsiders(t *testing.T) {
	const burst = 40
	f := setupOutsiders(t, func(c *admin.Config) { c.RatePerSecond, c.Burst = 20, burst })
	ask := func(who string) int { return f.do(who, http.MethodGet, "/lanes", "").status }
	for n := range burst {
		if got := ask(outsider + "mallory"); got != http.StatusForbidden {
			t.Fatalf("request %d: got %d", n+1, got)
		}
	}
	f.do(outsider+"mallory", http.MethodGet, "/lanes", "").refused(http.StatusTooManyRequests, "20 times a second")
	if got := ask(outsider + "eve"); got != http.StatusForbidden {
		t.Errorf("another one gets %d", got)
	}
	for n := range 5000 { // more than have a bucket of their own
		ask(fmt.Sprint(outsider, n))
	}
	if got := ask("dev-viewer"); got != http.StatusOK {
		t.Errorf("who has a role gets %d", got)
	}
	f.pass(time.Second)
	if got := ask(outsider + "mallory"); got != http.StatusForbidden {
		t.Errorf("a second later: %d", got)
	}
}

func TestOutsidersDoNotFloodTheAudit(t *testing.T) {
	const most = 60
	f := setupOutsiders(t)
	flood := func() {
		for n := range 1500 {
			f.do(fmt.Sprint(outsider, n), http.MethodGet, "/dlq", "").refused(http.StatusForbidden, "no role here")
		}
	}
	flood()
	if len(f.queue.entries) != most {
		t.Errorf("%d entries within a minute, want %d", len(f.queue.entries), most)
	}
	if n := f.logs.FilterMessage("access refused").Len(); n != most {
		t.Errorf("%d warnings about one, want %d", n, most)
	}
	if n := f.logs.FilterMessage("access refused to more than are written down").Len(); n != 1 {
		t.Errorf("%d warnings that there are more, want 1", n)
	}
	f.do("dev-viewer", http.MethodPost, "/dlq/x/replay", because).refused(http.StatusForbidden, "needs the role operator")
	if last := f.queue.entries[len(f.queue.entries)-1]; last.Role != dlq.Viewer {
		t.Errorf("who has a role is left out of the audit for them: %+v", last)
	}
	f.pass(time.Minute)
	flood()
	if got, want := len(f.queue.entries), 2*most+1; got != want {
		t.Errorf("%d entries in two minutes, want %d", got, want)
	}
}
