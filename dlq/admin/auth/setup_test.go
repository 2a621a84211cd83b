package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/admin/auth/authtest"
)

const (
	audience    = "https://relay.example.com"
	iapAudience = "/projects/123/global/backendServices/456"
	rolesYAML   = `roles:
  viewer: [carol@example.com, alice@example.com]
  operator:
    - alice@example.com
  security: [Bob@Example.com]
`
)

// issuer is shared: keys take long to make.
var issuer = sync.OnceValue(func() *authtest.Issuer {
	i, err := authtest.NewIssuer()
	if err != nil {
		panic(err)
	}
	return i
})

// fixture is an authenticator with a roles file and a clock.
type fixture struct {
	t     *testing.T
	roles string // path
	now   time.Time
	auth  auth.Authenticator
}

func setup(t *testing.T, c auth.Config) *fixture {
	t.Helper()
	f := &fixture{t: t, roles: filepath.Join(t.TempDir(), "roles.yaml")}
	f.write(rolesYAML)
	if c.Mode == auth.ModeOIDC || c.Mode == auth.ModeIAP {
		c.RolesFile = f.roles
	}
	if c.Now == nil {
		c.Now = func() time.Time { return f.now }
	}
	if c.Transport == nil {
		c.Transport = issuer()
	}
	f.now = time.Now() // the issuer may have taken seconds for its keys
	var err error
	if f.auth, err = auth.New(c); err != nil {
		t.Fatal(err)
	}
	return f
}

func setupOIDC(t *testing.T) *fixture {
	t.Helper()
	return setup(t, auth.Config{Mode: auth.ModeOIDC, Audience: []string{"https://other.example.com", audience}})
}

func setupIAP(t *testing.T) *fixture {
	t.Helper()
	return setup(t, auth.Config{Mode: auth.ModeIAP, Audience: []string{iapAudience}})
}

func (f *fixture) write(yaml string) {
	f.t.Helper()
	if err := os.WriteFile(f.roles, []byte(yaml), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// ask authenticates a request with the given headers, as name and value.
func (f *fixture) ask(headers ...string) (auth.Identity, *auth.Refusal) {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), http.MethodGet, "http://127.0.0.1:8080/admin/v1/dlq", nil)
	for n := 0; n < len(headers); n += 2 {
		r.Header.Add(headers[n], headers[n+1])
	}
	return f.authenticate(r)
}

func (f *fixture) authenticate(r *http.Request) (auth.Identity, *auth.Refusal) {
	f.t.Helper()
	who, err := f.auth.Authenticate(r)
	if err == nil {
		return who, nil
	}
	refusal, ok := errors.AsType[*auth.Refusal](err)
	if !ok {
		f.t.Fatalf("got %v, want a refusal", err)
	}
	return who, refusal
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

func assertion(token string) []string { return []string{"X-Goog-Iap-Jwt-Assertion", token} }
