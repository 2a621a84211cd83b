package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin/auth"
)

// guard stands in front of the operations. It lets through who may ask for one,
// not too often, and with a request that is well formed.
type guard struct {
	config     Config
	mux        *http.ServeMux
	routes     map[string]*route
	origin     *http.CrossOriginProtection
	identities *limits // who has a role
	outsiders  *limits // who has none, though known
	strangers  *limits // who is not known
	turnedAway *turnedAway
	metrics    *metrics
	log        *zap.Logger
}

func newGuard(c Config, mux *http.ServeMux, routes map[string]*route, m *metrics) *guard {
	return &guard{
		config: c, mux: mux, routes: routes, origin: http.NewCrossOriginProtection(), metrics: m, log: c.Log,
		identities: newLimits(c.RatePerSecond, c.Burst, c.Now),
		outsiders:  newLimits(c.RatePerSecond, c.Burst, c.Now),
		strangers:  newLimits(strangersPerSecond, strangersBurst, c.Now),
		turnedAway: newTurnedAway(c),
	}
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := g.config.Now()
	c, a := &call{method: r.Method}, newAnswer()
	ctx, cancel := context.WithTimeout(withCall(r.Context(), c), g.config.Timeout)
	defer cancel()
	g.answer(a, w, r.WithContext(ctx), c)
	a.send(w)
	took := g.config.Now().Sub(began)
	g.metrics.observe(c, a.status, took)
	if c.changes() && c.who.Name != "" {
		g.log.Info("admin request", append(c.fields(), zap.Int("status", a.status), zap.Duration("took", took))...)
	}
}

// answer writes the whole answer into a. w is there for its deadline alone.
func (g *guard) answer(a *answer, w http.ResponseWriter, r *http.Request, c *call) {
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("admin request panicked", append(c.fields(), zap.String("panic", contracts.PanicText(p)), zap.ByteString("stack", debug.Stack()))...)
			a.refuse(problem(http.StatusInternalServerError, "the service failed", "its log says why"), r.URL)
		}
	}()
	r.Header = r.Header.Clone()
	r.Header.Del("Accept") // there is JSON and nothing else
	for _, check := range []func(http.ResponseWriter, *http.Request, *call) *Problem{
		bounded, g.known, g.paced, g.sameOrigin, g.routed, g.permitted, wellAsked, wellSaid,
	} {
		if p := check(w, r, c); p != nil {
			a.refuse(p, r.URL)
			return
		}
	}
	g.mux.ServeHTTP(a, r)
	if c.forbidden != "" {
		g.turnedAway.note(r, c, c.who, "queue", c.forbidden)
	}
}

const (
	maxURLBytes    = 8 << 10
	maxHeaderBytes = 16 << 10
)

// bounded refuses requests that are larger than any sensible one.
func bounded(_ http.ResponseWriter, r *http.Request, _ *call) *Problem {
	if len(r.URL.RequestURI()) > maxURLBytes {
		return problem(http.StatusRequestURITooLong, fmt.Sprintf("the URL has more than %d bytes", maxURLBytes), "narrow less at once")
	}
	size := 0
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	if size > maxHeaderBytes {
		return problem(http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("the headers have more than %d bytes", maxHeaderBytes), "send fewer headers")
	}
	return nil
}

// known finds out who asks. Those who cannot say are counted by where they come
// from. Who can is never kept out by them, with a role or without: behind a proxy
// all come from there. Nor is who has a role by those without, who are counted
// apart, each by name.
func (g *guard) known(_ http.ResponseWriter, r *http.Request, c *call) *Problem {
	who, err := g.config.Authenticator.Authenticate(r)
	if err == nil {
		c.who = who
		return nil
	}
	refusal, ok := err.(*auth.Refusal) //nolint:errorlint // the interface promises this type
	if !ok {
		g.log.Error("authentication failed", zap.Error(err))
		return problem(http.StatusInternalServerError, "the service failed", "its log says why")
	}
	switch refusal.Kind {
	case auth.Forbidden:
		if p := g.pace(g.outsiders, refusal.Name); p != nil {
			return p
		}
		g.turnedAway.note(r, c, auth.Identity{Name: refusal.Name}, refusal.Code, refusal.Detail)
		return problem(http.StatusForbidden, refusal.Detail, refusal.Hint)
	case auth.Off:
		return problem(http.StatusServiceUnavailable, refusal.Detail, refusal.Hint)
	case auth.Unavailable:
		g.log.Error("tokens cannot be checked", zap.Error(refusal))
		return problem(http.StatusServiceUnavailable, refusal.Detail, refusal.Hint).after(time.Second)
	case auth.Unauthenticated:
	}
	if wait, ok := g.strangers.take(neighbourhood(r.RemoteAddr)); !ok {
		return problem(http.StatusTooManyRequests, "too many requests without a valid credential come from your address", "get a valid credential first").after(wait)
	}
	g.log.Debug("request without a valid credential", zap.String("why", refusal.Code), zap.Error(refusal))
	return problem(http.StatusUnauthorized, refusal.Detail, refusal.Hint).with("WWW-Authenticate", refusal.Challenge)
}

// paced bounds how often one identity with a role asks.
func (g *guard) paced(_ http.ResponseWriter, _ *http.Request, c *call) *Problem {
	return g.pace(g.identities, c.who.Name)
}

// pace bounds how often somebody asks. Who has no name shares a bound with all others.
func (g *guard) pace(l *limits, name string) *Problem {
	wait, ok := l.take(name)
	if ok {
		return nil
	}
	return problem(http.StatusTooManyRequests, fmt.Sprintf("%s asks more than %g times a second", cmp.Or(name, "somebody like you"), g.config.RatePerSecond),
		"wait as long as Retry-After says").after(wait)
}

// sameOrigin refuses what a page of another origin has a browser send: behind a
// proxy that signs people in, the browser would be believed.
func (g *guard) sameOrigin(_ http.ResponseWriter, r *http.Request, _ *call) *Problem {
	if err := g.origin.Check(r); err != nil {
		return problem(http.StatusForbidden, "a page of another origin sent this request", "send it from the service's own console, or without a browser")
	}
	return nil
}

// routed finds the operation.
func (g *guard) routed(_ http.ResponseWriter, r *http.Request, c *call) *Problem {
	const hint = "GET " + Prefix + "/openapi.json lists what there is"
	escaped := r.URL.EscapedPath()
	if path.Clean(escaped) != escaped { // the mux would redirect
		return problem(http.StatusNotFound, "nothing is served under this path", hint)
	}
	if _, pattern := g.mux.Handler(r); pattern != "" {
		c.route = g.routes[pattern]
		return nil
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := g.mux.Handler(other); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return problem(http.StatusNotFound, "nothing is served under this path", hint)
	}
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	return problem(http.StatusMethodNotAllowed, "this method is not allowed here", hint).with("Allow", strings.Join(allowed, ", "))
}

// permitted compares roles. What depends on the dead letter, the queue judges.
func (g *guard) permitted(_ http.ResponseWriter, r *http.Request, c *call) *Problem {
	if c.who.Role >= c.route.role {
		return nil
	}
	detail := fmt.Sprintf("this needs the role %s, and %s has %s", c.route.role, c.who.Name, c.who.Role)
	g.turnedAway.note(r, c, c.who, "role", detail)
	return problem(http.StatusForbidden, detail, "ask someone with the role "+c.route.role.String())
}
