package auth_test

import (
	"net/http"
	"testing"

	"google.golang.org/api/idtoken"

	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/admin/auth/authtest"
)

// noted remembers where keys were asked for.
type noted struct{ url string }

func (n *noted) RoundTrip(req *http.Request) (*http.Response, error) {
	n.url = req.URL.String()
	return issuer().RoundTrip(req)
}

// Keys are fetched from where Google's own library has them.
func TestKeysAreGooglesOwn(t *testing.T) {
	for _, tt := range []struct {
		mode     auth.Mode
		audience string
		token    string
		headers  func(string) []string
	}{
		{auth.ModeOIDC, audience, issuer().RS256(authtest.Google("alice@example.com", audience)), bearer},
		{auth.ModeIAP, iapAudience, issuer().ES256(authtest.IAP("alice@example.com", iapAudience)), assertion},
	} {
		t.Run(string(tt.mode), func(t *testing.T) {
			var got, want noted
			f := setup(t, auth.Config{Mode: tt.mode, Audience: []string{tt.audience}, Transport: &got})
			if _, refusal := f.ask(tt.headers(tt.token)...); refusal != nil {
				t.Fatal(refusal)
			}
			library, err := idtoken.NewValidator(t.Context(), idtoken.WithHTTPClient(&http.Client{Transport: &want}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := library.Validate(t.Context(), tt.token, tt.audience); err != nil {
				t.Fatal(err)
			}
			if got.url != want.url {
				t.Errorf("keys come from %s, want %s", got.url, want.url)
			}
		})
	}
}
