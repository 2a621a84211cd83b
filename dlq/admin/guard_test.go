package admin_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/admin/auth"
)

func TestRateLimitOfAnIdentity(t *testing.T) {
	const burst = 40
	f := setup(t, func(c *admin.Config) { c.RatePerSecond, c.Burst = 20, burst })
	ask := func(who string) int { return f.do(who, http.MethodGet, "/lanes", "").status }
	for n := range burst {
		if got := ask("dev-viewer"); got != http.StatusOK {
			t.Fatalf("request %d: got %d", n+1, got)
		}
	}
	a := f.do("dev-viewer", http.MethodGet, "/lanes", "")
	a.refused(http.StatusTooManyRequests, "20 times a second")
	if got := a.header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	if got := ask("dev-operator"); got != http.StatusOK {
		t.Errorf("somebody else gets %d", got)
	}
	f.pass(100 * time.Millisecond)
	if got := []int{ask("dev-viewer"), ask("dev-viewer"), ask("dev-viewer")}; !slices.Equal(got, []int{200, 200, 429}) {
		t.Errorf("a tenth of a second later: %v", got)
	}
}

func TestRateLimitOfStrangers(t *testing.T) {
	f := setup(t)
	ask := func(who, remote string) int {
		r := request(t, who, http.MethodGet, "/lanes", "")
		r.RemoteAddr = remote
		return send(t, f.handler, r).status
	}
	const burst = 2000
	for n := range burst {
		if got := ask("garbage", "203.0.113.7:1000"); got != http.StatusUnauthorized {
			t.Fatalf("request %d: got %d", n+1, got)
		}
	}
	for remote, want := range map[string]int{
		"203.0.113.7:2000": 429, "203.0.113.8:1000": 401, "[2001:db8::1]:1": 401,
	} {
		if got := ask("", remote); got != want {
			t.Errorf("%s: got %d, want %d", remote, got, want)
		}
	}
	if got := ask("dev-viewer", "203.0.113.7:3000"); got != http.StatusOK {
		t.Errorf("who has a credential is kept out with them: %d", got)
	}
	for range burst - 1 {
		ask("", "[2001:db8::2]:1")
	}
	if got := ask("", "[2001:db8:0:0:ffff::3]:1"); got != http.StatusTooManyRequests {
		t.Errorf("a neighbour in the same /64 gets %d", got)
	}
	f.pass(10 * time.Millisecond)
	if got := []int{ask("", "203.0.113.7:1"), ask("", "203.0.113.7:1")}; !slices.Equal(got, []int{401, 429}) {
		t.Errorf("a hundredth of a second later: %v", got)
	}
}

func TestCrossOrigin(t *testing.T) {
	f := setup(t)
	const target = "/dlq/x/replay"
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Origin", "https://evil.example.com"},
		{"Origin", "null"},
		{"Origin", "http://127.0.0.1:9999"},
	} {
		f.do("dev-operator", http.MethodPost, target, because, headers...).refused(http.StatusForbidden, "another origin")
	}
	if calls := f.queue.asked(); len(calls) > 0 {
		t.Errorf("the queue was asked %v", calls)
	}
	for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}, {"Origin", "http://127.0.0.1:8080"}} {
		if a := f.do("dev-operator", http.MethodPost, target, because, headers...); a.status != http.StatusAccepted {
			t.Errorf("%v: got %d: %s", headers, a.status, a.body)
		}
	}
}

func TestOffAnswersEverybodyAlike(t *testing.T) {
	off, err := auth.New(auth.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f := setup(t, func(c *admin.Config) { c.Authenticator = off })
	for range 3 {
		for _, e := range endpoints {
			f.do("dev-security", e.method, e.target, e.body).refused(http.StatusServiceUnavailable, "the admin API is off: set AUTH_MODE")
		}
	}
	f.do("", http.MethodGet, "/nope", "").refused(http.StatusServiceUnavailable, "set AUTH_MODE")
}

// refusing turns everybody away.
type refusing struct{ err error }

func (r refusing) Authenticate(*http.Request) (auth.Identity, error) { return auth.Identity{}, r.err }

func TestWhoIsTurnedAwayIsAudited(t *testing.T) {
	unknown := &auth.Refusal{Kind: auth.Forbidden, Code: "unknown_identity", Name: "mallory@example.com", Detail: "mallory@example.com has no role here", Hint: "h"}
	f := setup(t, func(c *admin.Config) { c.Authenticator = refusing{unknown} })
	f.do("", http.MethodPost, "/dlq/x/replay", because).refused(http.StatusForbidden, "no role here")
	f.do("", http.MethodGet, "/dlq", "").refused(http.StatusForbidden, "no role here")
	if len(f.queue.entries) != 1 {
		t.Fatalf("%d entries within a minute, want 1", len(f.queue.entries))
	}
	e := f.queue.entries[0]
	if e.Actor != "mallory@example.com" || e.Action != "refused" || e.Subject != dlq.SubjectAccess || e.Role != dlq.NoRole || e.Reason == "" {
		t.Errorf("got %+v", e)
	}
	if n := f.logs.FilterMessage("access refused").FilterLevelExact(zap.WarnLevel).Len(); n != 1 {
		t.Errorf("%d warnings, want 1", n)
	}
	f.pass(time.Minute)
	f.do("", http.MethodGet, "/dlq", "")
	if len(f.queue.entries) != 2 {
		t.Errorf("%d entries after a minute, want 2", len(f.queue.entries))
	}
	known := setup(t)
	known.do("dev-viewer", http.MethodPost, "/dlq/x/replay", because).refused(http.StatusForbidden, "needs the role operator")
	if len(known.queue.entries) != 1 || known.queue.entries[0].Role != dlq.Viewer || !strings.Contains(known.queue.entries[0].Reason, "POST /dlq/x/replay") {
		t.Errorf("got %+v", known.queue.entries)
	}
}

// What depends on the dead letter, the queue refuses.
func TestWhoIsRefusedByTheQueueIsAudited(t *testing.T) {
	f := setup(t)
	f.queue.err = &dlq.Refusal{Kind: dlq.Forbidden, Detail: "to discard a dead letter of SECURITY_BLOCK needs the role security", Hint: "h"}
	f.do("dev-operator", http.MethodPost, "/dlq/7f0c:acc%2F1:3/discard", because).refused(http.StatusForbidden, "SECURITY_BLOCK")
	f.do("dev-operator", http.MethodPost, "/dlq/another/discard", because).refused(http.StatusForbidden, "SECURITY_BLOCK")
	f.queue.err = &dlq.Refusal{Kind: dlq.Conflict, Detail: "it is replayed already", Hint: "h"}
	f.do("dev-operator", http.MethodPost, "/dlq/x/replay", because).refused(http.StatusConflict, "already")
	if len(f.queue.entries) != 1 {
		t.Fatalf("%d entries, want the one of what is forbidden, once a minute", len(f.queue.entries))
	}
	e := f.queue.entries[0]
	if e.Actor != "dev-operator" || e.Role != dlq.Operator || e.Subject != dlq.SubjectAccess ||
		e.Reason != "POST /dlq/7f0c:acc%2F1:3/discard: to discard a dead letter of SECURITY_BLOCK needs the role security" {
		t.Errorf("got %+v", e)
	}
}

// A harmless refusal does not hide another.
func TestEachOperationThatIsRefusedIsAudited(t *testing.T) {
	f := setup(t)
	long := strings.Repeat("x", 1400)
	for range 2 {
		f.do("dev-viewer", http.MethodGet, "/replays", "").refused(http.StatusForbidden, "needs the role operator")
		f.do("dev-viewer", http.MethodPost, "/freezes/acc-1/release", because).refused(http.StatusForbidden, "needs the role security")
		f.do("dev-viewer", http.MethodPost, "/dlq/"+long+"/uncover", because).refused(http.StatusForbidden, "needs the role security")
	}
	if len(f.queue.entries) != 3 {
		t.Fatalf("%d entries, want 3", len(f.queue.entries))
	}
	for n, want := range []string{"GET /replays: ", "POST /freezes/acc-1/release: ", "POST /dlq/xxx"} {
		if got := f.queue.entries[n].Reason; !strings.HasPrefix(got, want) || len(got) > 1200 {
			t.Errorf("got %q, want it to begin with %q", got, want)
		}
	}
}

// Who hangs up before the answer is written down all the same.
func TestWhoHangsUpIsAudited(t *testing.T) {
	f := setup(t)
	r := request(t, "dev-viewer", http.MethodPost, "/dlq/x/replay", because)
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	send(t, f.handler, r.WithContext(ctx)).refused(http.StatusForbidden, "needs the role operator")
	if len(f.queue.entries) != 1 {
		t.Errorf("%d entries, want 1", len(f.queue.entries))
	}
}

func TestKeysAwayIsNoRefusal(t *testing.T) {
	f := setup(t, func(c *admin.Config) {
		c.Authenticator = refusing{&auth.Refusal{Kind: auth.Unavailable, Code: "keys", Detail: "Google's keys cannot be fetched", Hint: "h", Err: context.DeadlineExceeded}}
	})
	a := f.do("", http.MethodGet, "/dlq", "")
	a.refused(http.StatusServiceUnavailable, "keys")
	if a.header.Get("Retry-After") == "" {
		t.Error("nothing says when to ask again")
	}
}

func TestConfigSaysAllThatIsMissing(t *testing.T) {
	_, err := admin.New(admin.Config{Timeout: -1})
	for _, part := range []string{"letters is required", "replays is required", "freezes is required", "lanes is required", "history is required", "catalog is required", "status is required", "authenticator is required", "negative"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want it to say %q", err, part)
		}
	}
}
