package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/web"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/admin/auth/authtest"
	"outboxrelay/relay"
)

const (
	oldAudience = "https://relay-old.example.com"
	newAudience = "https://relay.example.com"
)

// gated is a service that takes Google's ID tokens, which the test signs.
type gated struct {
	t      *testing.T
	url    string
	roles  string // file
	issuer *authtest.Issuer
}

// openGated starts a service within the test, on any cloud.
func openGated(t *testing.T, audiences ...string) *gated {
	t.Helper()
	at, _ := anyCloud(t)
	issuer, err := authtest.NewIssuer()
	if err != nil {
		t.Fatal(err)
	}
	g := &gated{t: t, roles: filepath.Join(t.TempDir(), "roles.yaml"), issuer: issuer}
	g.grant("operator: [alice@example.com]\n  viewer: [carol@example.com]")
	who, err := auth.New(auth.Config{Mode: auth.ModeOIDC, Audience: audiences, RolesFile: g.roles, Transport: issuer})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := web.Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	g.url = "http://" + lis.Addr().String()
	svc, err := newService(t.Context(), serviceConfig{
		place: at, catalog: testCatalog(t), ensureTopics: true, tuning: relay.DefaultTuning(), who: who, mode: auth.ModeOIDC, log: zap.NewNop(),
		instance: "gated", leaseTerm: standTerm,
	})
	if err != nil {
		t.Fatal(err)
	}
	running := beside(t, func(ctx context.Context) error {
		return svc.run(ctx, site{servicePages(svc.health, svc.registry), svc.api, svc.console}, lis)
	})
	t.Cleanup(running)
	return g
}

// grant writes the roles file.
func (g *gated) grant(roles string) {
	g.t.Helper()
	if err := os.WriteFile(g.roles, []byte("roles:\n  "+roles+"\n"), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// pause asks to pause a lane, as somebody with a token for an audience, or to
// resume it, and returns the answer's status.
func (g *gated) pause(who, audience, verb string) int {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost,
		g.url+"/admin/v1"+adminapi.Path("lanes", string(contracts.BackgroundLane), verb), strings.NewReader(`{"reason":"a test of roles"}`))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+g.issuer.RS256(authtest.Google(who, audience)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// Roles change while the service runs: who is given one may act within a second
// or two, who loses it may not any more, and a file with faults changes nothing.
func TestE2EOperationsChangeRoles(t *testing.T) {
	thorough.EndToEnd(t)
	g := openGated(t, newAudience)
	if got := g.pause("alice@example.com", newAudience, "pause"); got != http.StatusOK {
		t.Errorf("alice as operator: %d", got)
	}
	if got := g.pause("carol@example.com", newAudience, "resume"); got != http.StatusForbidden {
		t.Errorf("carol as viewer: %d", got)
	}
	g.grant("operator: [carol@example.com]\n  viewer: [alice@example.com]")
	eventually(t, "carol is operator", func() bool { return g.pause("carol@example.com", newAudience, "resume") == http.StatusOK })
	if got := g.pause("alice@example.com", newAudience, "pause"); got != http.StatusForbidden {
		t.Errorf("alice as viewer: %d", got)
	}
	g.grant("operater: [dora@example.com]") // a slip
	for range 30 {
		if got := g.pause("dora@example.com", newAudience, "pause"); got != http.StatusForbidden {
			t.Fatalf("dora, whose file has a fault: %d", got)
		}
	}
	if got := g.pause("carol@example.com", newAudience, "pause"); got != http.StatusOK {
		t.Errorf("carol, under a file with a fault: %d", got)
	}
	t.Log("roles changed places without a restart; a file with a fault left them as they were")
}

// The audience changes without anybody being shut out: both are taken for a
// while, and then the old one is not.
func TestE2EOperationsChangeAudience(t *testing.T) {
	thorough.EndToEnd(t)
	besideOthers(t)
	for _, step := range []struct {
		what      string
		audiences []string
		old, new  int
	}{
		{"before", []string{oldAudience}, http.StatusOK, http.StatusUnauthorized},
		{"both", []string{oldAudience, newAudience}, http.StatusOK, http.StatusOK},
		{"after", []string{newAudience}, http.StatusUnauthorized, http.StatusOK},
	} {
		t.Run(step.what, func(t *testing.T) {
			g := openGated(t, step.audiences...)
			was := g.pause("alice@example.com", oldAudience, "pause")
			if was == http.StatusOK {
				g.pause("alice@example.com", oldAudience, "resume")
			}
			is := g.pause("alice@example.com", newAudience, "pause")
			t.Logf("AUTH_AUDIENCE %v: a token for the old one %d, for the new one %d", step.audiences, was, is)
			if was != step.old || is != step.new {
				t.Errorf("%d and %d, want %d and %d", was, is, step.old, step.new)
			}
		})
	}
}
