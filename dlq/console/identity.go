package console

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
)

// pickCookie holds who the visitor picked to be, in ModeDev. It is no secret:
// the tokens of that mode are not, and it is for loopback alone.
const pickCookie = "outbox-relay-as"

// visitor is who looks at a page.
type visitor struct {
	auth.Identity
	picks []auth.Identity // those to choose from, in ModeDev
}

// May reports whether the visitor has a role or one above it.
func (v visitor) May(role dlq.Role) bool { return v.Role >= role }

// Picks lists the identities to choose from; empty outside ModeDev.
func (v visitor) Picks() []auth.Identity { return v.picks }

// credentials gives a request of a browser what the API asks for. A browser
// sends a pick of ModeDev as a cookie and never as the header that stands for it.
func (s *server) credentials(r *http.Request) *http.Request {
	if s.config.Mode != auth.ModeDev {
		return r
	}
	as := auth.DevIdentities()[0].Name
	if c, err := r.Cookie(pickCookie); err == nil {
		as = c.Value
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+as)
	return r
}

// visitorOf finds out who asks.
func (s *server) visitorOf(r *http.Request) (visitor, error) {
	who, err := s.config.Authenticator.Authenticate(r)
	v := visitor{Identity: who}
	if s.config.Mode == auth.ModeDev {
		v.picks = auth.DevIdentities()
	}
	if r, ok := errors.AsType[*auth.Refusal](err); ok && r.Kind == auth.Unauthenticated && s.config.Mode == auth.ModeOIDC {
		err = &fault{http.StatusUnauthorized, r.Detail, oidcHint}
	}
	return v, err
}

// oidcHint says how a browser comes in where each request carries a token: it
// sends none by itself.
const oidcHint = "a browser sends no identity token by itself: open this page through a proxy on your machine that adds one to each request " +
	"(header Authorization; its audience must be one of AUTH_AUDIENCE), or use the command line, outbox-relay dlq; " +
	"a service for many people is better run with AUTH_MODE iap, which signs them in"

// challenge is what a 401 has to name.
func (c Config) challenge() string {
	if c.Mode == auth.ModeIAP {
		return `IAP realm="outbox-relay"`
	}
	return `Bearer realm="outbox-relay"`
}

// pick changes who the visitor is, in ModeDev, and leads back.
func (s *server) pick(w http.ResponseWriter, r *http.Request) {
	if s.config.Mode != auth.ModeDev {
		s.fail(w, r, visitor{}, &fault{http.StatusNotFound, "there is no such identity to pick", "identities are picked in AUTH_MODE dev alone"})
		return
	}
	as := r.PostFormValue("as")
	known := slices.ContainsFunc(auth.DevIdentities(), func(i auth.Identity) bool { return i.Name == as })
	if !known {
		s.fail(w, r, visitor{}, &fault{http.StatusNotFound, "there is no such identity to pick", "pick one of those that the page offers"})
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // mode dev is on loopback alone, without TLS
		Name: pickCookie, Value: as, Path: Prefix, MaxAge: int((30 * 24 * time.Hour).Seconds()), HttpOnly: true,
		SameSite: http.SameSiteLaxMode, // a link in a chat leads here as whom one is
	})
	http.Redirect(w, r, local(r.PostFormValue("back")), http.StatusSeeOther) //nolint:gosec // local lets no other place through
}

// local is a path of the console to lead to; anything else leads to its start.
func local(path string) string {
	if !strings.HasPrefix(path, Prefix+"/") || strings.ContainsAny(path, "\\\r\n") {
		return Prefix + "/"
	}
	return path
}
