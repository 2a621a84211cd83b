package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
)

// inMode makes a fixture's service that of a mode.
func inMode(t *testing.T, mode auth.Mode) func(*fixture) {
	t.Helper()
	roles := filepath.Join(t.TempDir(), "roles.yaml")
	if err := os.WriteFile(roles, []byte("roles: {operator: [alice@example.com]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	who, err := auth.New(auth.Config{Mode: mode, Audience: []string{"https://relay.example.com"}, RolesFile: roles})
	if err != nil {
		t.Fatal(err)
	}
	return func(f *fixture) { f.mode, f.who = mode, who }
}

func TestWhoIsNotKnownIsToldHowToComeIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode      auth.Mode
		status    int
		says      []string
		challenge string
	}{
		{auth.ModeOff, http.StatusServiceUnavailable, []string{"the admin API is off: set AUTH_MODE", "oidc or iap"}, ""},
		{auth.ModeOIDC, http.StatusUnauthorized, []string{"You are not signed in", "a proxy on your machine", "AUTH_MODE iap", "outbox-relay dlq"}, "Bearer"},
		{auth.ModeIAP, http.StatusUnauthorized, []string{"You are not signed in", "Identity-Aware Proxy"}, "IAP"},
	} {
		t.Run("mode "+string(tt.mode), func(t *testing.T) {
			f := setup(t, inMode(t, tt.mode))
			resp, err := f.person("dev-security").client.Get(f.url + "/console/dlq") // the cookie of mode dev means nothing
			if got := resp.Header.Get("WWW-Authenticate"); !strings.HasPrefix(got, tt.challenge) || (got == "") != (tt.challenge == "") {
				t.Errorf("WWW-Authenticate is %q", got)
			}
			status, page := f.person("").read(resp, err)
			if status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			for _, text := range tt.says {
				if !strings.Contains(page, text) {
					t.Errorf("the page does not say %q: %s", text, plain(page))
				}
			}
			if strings.Contains(page, "dev-viewer") {
				t.Error("identities of mode dev are offered")
			}
			if status, _ := f.person("").get("/live?on=clock"); status != tt.status {
				t.Errorf("the stream answers %d", status)
			}
		})
	}
}

// known is an authenticator that knows everybody as one person.
type known struct{ who auth.Identity }

func (k known) Authenticate(*http.Request) (auth.Identity, error) { return k.who, nil }

func TestPageKnowsWhoItIs(t *testing.T) {
	f := setup(t, func(f *fixture) {
		f.mode, f.who = auth.ModeIAP, known{auth.Identity{Name: "alice@example.com", Role: dlq.Operator}}
	})
	p := f.person("")
	status, page := p.get("/")
	if status != http.StatusOK || !strings.Contains(page, "alice@example.com") || strings.Contains(page, `name="as"`) {
		t.Errorf("status %d; the page says not that it is alice@example.com, or lets her pick", status)
	}
	if status, page := p.post("/identity", url.Values{"as": {"dev-security"}}); status != http.StatusNotFound || !strings.Contains(page, "AUTH_MODE dev alone") {
		t.Errorf("status %d: she picks all the same", status)
	}
}

// unknown is an authenticator that knows who it is, and that they have no role.
type unknown struct{}

func (unknown) Authenticate(*http.Request) (auth.Identity, error) {
	return auth.Identity{}, &auth.Refusal{Kind: auth.Forbidden, Code: "unknown_identity", Name: "eve@example.com", Detail: "eve@example.com has no role here", Hint: "ask for one"}
}

func TestWhoHasNoRoleIsToldWhomToAsk(t *testing.T) {
	f := setup(t, func(f *fixture) { f.mode, f.who = auth.ModeIAP, unknown{} })
	for _, path := range []string{"/", "/dlq", "/audit", "/replays", "/freezes"} {
		if status, page := f.person("").get(path); status != http.StatusForbidden || !strings.Contains(page, "eve@example.com has no role here") || !strings.Contains(page, "ask for one") {
			t.Errorf("%s: status %d", path, status)
		}
	}
}

// An identity that expires under an open page: the page says so, keeps what was
// typed, and goes on when it is known again who looks.
func TestIdentityThatExpiresTakesNothingAway(t *testing.T) {
	var who *expiring
	f := setup(t, func(f *fixture) {
		who = &expiring{Authenticator: f.who}
		f.who = who
	})
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(i))
	p.Click("#act-note summary")
	p.Write("#reason-note", "seen by me")
	typed := fmt.Sprintf("document.querySelector('#reason-note').value === %q", "seen by me")
	who.over.Store(true)
	p.Shows("You are not signed in")
	p.Shows("what you typed is kept")
	p.Until("there is a way to sign in", "document.querySelector('#connection a[target=_blank]')")
	p.Until("what was typed is still there", typed)
	p.accessible("an expired identity")
	p.picture("expired")
	p.Click("#act-note button[type=submit]")
	p.Shows("Nothing was done.")
	p.Until("what was sent is still there", typed)
	if n := f.decisions(i.ID, "note"); n != 0 {
		t.Errorf("%d notes were taken of nobody", n)
	}
	who.over.Store(false)
	p.Until("the page goes on", "document.querySelector('#connection').hidden && "+typed)
	p.Click("#act-note button[type=submit]")
	p.Shows("Your note stands")
	if n := f.decisions(i.ID, "note"); n != 1 {
		t.Errorf("%d notes", n)
	}
}
