package auth_test

import (
	"strings"
	"testing"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/admin/auth/authtest"
)

func TestTokens(t *testing.T) {
	oidc, iap := setupOIDC(t), setupIAP(t)
	google := authtest.Google("alice@example.com", audience)
	proxy := authtest.IAP("alice@example.com", iapAudience)
	sign, signIAP := issuer().RS256, issuer().ES256
	now := oidc.now
	stranger, err := authtest.NewIssuer()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		fixture *fixture
		headers []string
		code    string // of the refusal; "": alice, operator
	}{
		{"oidc good", oidc, bearer(sign(google)), ""},
		{"oidc other spelling of issuer", oidc, bearer(sign(google.With("iss", "accounts.google.com"))), ""},
		{"oidc address in capitals", oidc, bearer(sign(google.With("email", "Alice@Example.COM"))), ""},
		{"oidc scheme in lower case", oidc, []string{"Authorization", "bearer " + sign(google)}, ""},
		{"oidc clocks differ a little", oidc, bearer(sign(google.With("iat", now.Add(20*time.Second).Unix()))), ""},
		{"oidc nothing", oidc, nil, "none"},
		{"oidc garbage", oidc, bearer("garbage"), "malformed"},
		{"oidc garbage in three parts", oidc, bearer("a.b.c"), "malformed"},
		{"oidc parts that are no JSON", oidc, bearer("YWJj.YWJj.YWJj"), "malformed"},
		{"oidc other scheme", oidc, []string{"Authorization", "Basic " + sign(google)}, "scheme"},
		{"oidc two credentials", oidc, append(bearer(sign(google)), bearer(sign(google))...), "several"},
		{"oidc endless", oidc, bearer(strings.Repeat("a", 9000)), "too_long"},
		{"oidc expired", oidc, bearer(sign(google.With("exp", now.Add(-time.Second*2).Unix()))), "expired"},
		{"oidc without end", oidc, bearer(sign(google.With("exp", nil))), "expired"},
		{"oidc from the future", oidc, bearer(sign(google.With("iat", now.Add(time.Minute).Unix()))), "not_yet"},
		{"oidc without beginning", oidc, bearer(sign(google.With("iat", nil))), "not_yet"},
		{"oidc not before", oidc, bearer(sign(google.With("nbf", now.Add(time.Minute).Unix()))), "not_yet"},
		{"oidc wrong audience", oidc, bearer(sign(google.With("aud", "https://evil.example.com"))), "audience"},
		{"oidc no audience", oidc, bearer(sign(google.With("aud", nil))), "audience"},
		{"oidc several audiences", oidc, bearer(sign(google.With("aud", []string{audience}))), "malformed"},
		{"oidc wrong issuer", oidc, bearer(sign(google.With("iss", "https://evil.example.com"))), "issuer"},
		{"oidc issuer of the proxy", oidc, bearer(sign(google.With("iss", "https://cloud.google.com/iap"))), "issuer"},
		{"oidc signed by somebody else", oidc, bearer(stranger.RS256(google)), "signature"},
		{"oidc changed after signing", oidc, bearer(swapped(sign(google), google.With("email", "bob@example.com"))), "signature"},
		{"oidc signature cut off", oidc, bearer(authtest.Truncated(sign(google))), "signature"},
		{"oidc no algorithm", oidc, bearer(authtest.Unsigned(google)), "algorithm"},
		{"oidc algorithm of the proxy", oidc, bearer(signIAP(google)), "algorithm"},
		{"oidc unverified address", oidc, bearer(sign(google.With("email_verified", false))), "unverified"},
		{"oidc nothing about verification", oidc, bearer(sign(google.With("email_verified", nil))), "unverified"},
		{"oidc verification in words", oidc, bearer(sign(google.With("email_verified", "true"))), "unverified"},
		{"oidc no address", oidc, bearer(sign(google.With("email", nil))), "email"},
		{"oidc address of a look-alike", oidc, bearer(sign(google.With("email", "\u212Aate@example.com"))), "email"},
		{"oidc unknown identity", oidc, bearer(sign(google.With("email", "mallory@example.com"))), "unknown_identity"},
		{"oidc header of the proxy", oidc, assertion(sign(google)), "none"},
		{"oidc unsigned header of the proxy", oidc, []string{"X-Goog-Authenticated-User-Email", "accounts.google.com:alice@example.com"}, "none"},

		{"iap good", iap, assertion(signIAP(proxy)), ""},
		{"iap good beside an authorization", iap, append(assertion(signIAP(proxy)), bearer("garbage")...), ""},
		{"iap nothing", iap, nil, "none"},
		{"iap garbage", iap, assertion("garbage"), "malformed"},
		{"iap two assertions", iap, append(assertion(signIAP(proxy)), assertion(signIAP(proxy))...), "several"},
		{"iap expired", iap, assertion(signIAP(proxy.With("exp", now.Add(-2*time.Second).Unix()))), "expired"},
		{"iap from the future", iap, assertion(signIAP(proxy.With("iat", now.Add(time.Minute).Unix()))), "not_yet"},
		{"iap wrong audience", iap, assertion(signIAP(proxy.With("aud", "/projects/123/global/backendServices/457"))), "audience"},
		{"iap wrong issuer", iap, assertion(signIAP(proxy.With("iss", "https://evil.example.com"))), "issuer"},
		{"iap issuer of accounts", iap, assertion(signIAP(proxy.With("iss", "https://accounts.google.com"))), "issuer"},
		{"iap signed by somebody else", iap, assertion(stranger.ES256(proxy)), "signature"},
		{"iap signature cut off", iap, assertion(authtest.Truncated(signIAP(proxy))), "signature"},
		{"iap no signature", iap, assertion(authtest.Truncated(signIAP(proxy))[:len(authtest.Truncated(signIAP(proxy)))-8]), "signature"},
		{"iap no algorithm", iap, assertion(authtest.Unsigned(proxy)), "algorithm"},
		{"iap algorithm of accounts", iap, assertion(sign(proxy)), "algorithm"},
		{"iap no address", iap, assertion(signIAP(proxy.With("email", nil))), "email"},
		{"iap unknown identity", iap, assertion(signIAP(proxy.With("email", "mallory@example.com"))), "unknown_identity"},
		{"iap good token as authorization", iap, bearer(signIAP(proxy)), "none"},
		{"iap Google token as authorization", iap, bearer(sign(google)), "none"},
		{"iap unsigned header", iap, []string{"X-Goog-Authenticated-User-Email", "accounts.google.com:alice@example.com"}, "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			who, refusal := tt.fixture.ask(tt.headers...)
			if tt.code == "" {
				if want := (auth.Identity{Name: "alice@example.com", Role: dlq.Operator}); refusal != nil || who != want {
					t.Fatalf("got %v and %v, want %v", who, refusal, want)
				}
				return
			}
			if refusal == nil {
				t.Fatalf("got %v, want the refusal %s", who, tt.code)
			}
			if refusal.Code != tt.code {
				t.Errorf("got the refusal %s (%v), want %s", refusal.Code, refusal, tt.code)
			}
			if who != (auth.Identity{}) {
				t.Errorf("got the identity %v with a refusal", who)
			}
			if tt.code == "unknown_identity" {
				if refusal.Kind != auth.Forbidden || refusal.Name != "mallory@example.com" {
					t.Errorf("got %s of %q, want that mallory is forbidden", refusal.Kind, refusal.Name)
				}
				return
			}
			if refusal.Kind != auth.Unauthenticated || refusal.Challenge == "" || refusal.Hint == "" {
				t.Errorf("got %+v, want a challenge and a hint", refusal)
			}
			for _, h := range tt.headers {
				if len(h) > 40 && strings.Contains(refusal.Error(), h[len(h)-30:]) {
					t.Error("the refusal repeats the credential")
				}
			}
		})
	}
	t.Logf("%d kinds of credential", len(tests))
}

// swapped puts other claims under a signature.
func swapped(token string, claims authtest.Claims) string {
	parts := strings.Split(token, ".")
	parts[1] = strings.Split(authtest.Unsigned(claims), ".")[1]
	return strings.Join(parts, ".")
}

func TestKeysAway(t *testing.T) {
	google, err := authtest.NewIssuer()
	if err != nil {
		t.Fatal(err)
	}
	google.Away.Store(true)
	f := setup(t, auth.Config{Mode: auth.ModeOIDC, Audience: []string{audience}, Transport: google})
	token := bearer(google.RS256(authtest.Google("alice@example.com", audience)))

	_, refusal := f.ask(token...)
	if refusal == nil || refusal.Kind != auth.Unavailable {
		t.Fatalf("without keys got %v, want unavailable", refusal)
	}
	_, _ = f.ask(token...)
	if n := google.Fetches.Load(); n != 1 {
		t.Errorf("keys were asked for %d times within a second, want 1", n)
	}
	google.Away.Store(false)
	f.now = f.now.Add(2 * time.Second)
	if _, refusal := f.ask(token...); refusal != nil {
		t.Errorf("with keys got %v", refusal)
	}
	google.Away.Store(true)
	if _, refusal := f.ask(token...); refusal != nil {
		t.Errorf("with keys from before got %v", refusal)
	}
}
