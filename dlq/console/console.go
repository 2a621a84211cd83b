package console

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Server is the console. Close ends what it streams and samples.
type Server struct{ *server }

type server struct {
	config Config
	mux    *http.ServeMux
	origin *http.CrossOriginProtection
	live   *live
	log    *zap.Logger

	samples *samples
	leases  leases

	posts []string // patterns of all that changes something
}

// New makes the console. Until somebody looks it asks nobody for anything; it
// keeps samples of how this instance does, until it is closed.
func New(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("make console: %w", err)
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	s := &server{config: c, mux: http.NewServeMux(), origin: http.NewCrossOriginProtection(), log: c.Log}
	s.live = newLive(c.Changes, c.Log)
	s.samples = newSamples(c.Status, c.SampleEvery)
	s.leases.queues = make(map[string]foundLeases)
	s.mux.HandleFunc("GET "+Prefix+"/assets/{name...}", s.asset)
	s.mux.HandleFunc("GET "+Prefix+"/live", s.stream)
	s.post("/identity", s.pick)
	s.mux.Handle("GET "+Prefix, http.RedirectHandler(Prefix+"/", http.StatusFound))
	for _, add := range screens {
		add(s)
	}
	s.mux.HandleFunc(Prefix+"/", func(w http.ResponseWriter, r *http.Request) {
		v, _ := s.visitorOf(r) // an unknown one sees the same
		s.fail(w, r, v, &fault{http.StatusNotFound, "there is no such page", "the links above lead to those that there are"})
	})
	return &Server{s}, nil
}

// screens add themselves to a server; each is in a file of its own.
var screens = []func(*server){addOverview, addList, addGroups, addItem, addBulks, addFreezes, addTrace, addLanes, addQueues, addBell, addAudit}

// Close ends the streams, so that the server that they hang on can stop, and the
// samples.
func (s *Server) Close() {
	s.live.close()
	s.samples.close()
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	r.Body = http.MaxBytesReader(w, r.Body, maxForm) // whoever asks, whatever for
	defer s.survive(w, r)
	if err := s.origin.Check(r); err != nil {
		s.fail(w, r, visitor{}, &fault{http.StatusForbidden, "a page of another origin sent this request", "nothing was done; open the console itself"})
		return
	}
	s.mux.ServeHTTP(w, s.credentials(r))
}

// survive answers a request that panicked.
func (s *server) survive(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	s.log.Error("console request panicked", zap.String("panic", contracts.PanicText(p)), zap.ByteString("stack", debug.Stack()))
	s.fail(w, r, visitor{}, &fault{http.StatusInternalServerError, "the console failed", "the service's log says why"})
}

// policy lets a page load what the console itself serves, and send forms to it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// visit is one request for a page, by somebody who may look.
type visit struct {
	*http.Request
	who   visitor
	ask   *ask
	since string // position of the changes, from before anything was read
}

// page is what a screen shows.
type page struct {
	Title   string
	Section string   // the entry of the navigation that it belongs to
	Follows []string // topics whose changes make the page fetch itself again
	Again   string   // path and query that it fetches then; "" for its own
	Notice  *notice  // nil: none
	Content any      // for the screen's template
}

// notice tells above a page what became of an action.
type notice struct {
	Bad  bool
	Text string
	Hint string
}

// screen is a page: the template that shows it, and what loads it.
type screen struct {
	pattern  string
	template string
	load     func(ctx context.Context, v *visit) (*page, error)
}

// screen adds a page: pattern is below Prefix. An error is shown in the page's
// place.
func (s *server) screen(pattern, template string, load func(ctx context.Context, v *visit) (*page, error)) *screen {
	shown := &screen{pattern, template, load}
	s.mux.HandleFunc("GET "+Prefix+pattern, func(w http.ResponseWriter, r *http.Request) {
		s.visited(w, r, func(v *visit) error {
			p, err := load(r.Context(), v)
			if err != nil {
				return err
			}
			return s.write(w, http.StatusOK, v, template, p)
		})
	})
	return shown
}

// action adds what a form does; it returns where to go then. A refusal is told
// on the page that the form stands on, with what was typed: its load finds that
// in the visit's form, and the same names in the pattern. Whoever loads the
// address of that anew is led to the page. A failure takes the page's place.
func (s *server) action(pattern string, on *screen, do func(ctx context.Context, v *visit) (next string, err error)) {
	s.posted(pattern, on, func(w http.ResponseWriter, v *visit) error {
		next, err := do(v.Context(), v)
		if err != nil {
			return err
		}
		http.Redirect(w, v.Request, local(next), http.StatusSeeOther)
		return nil
	})
}

// posted adds a form whose answer do writes itself. A refusal is told as that of
// an action.
func (s *server) posted(pattern string, on *screen, do func(w http.ResponseWriter, v *visit) error) {
	if pattern != on.pattern {
		s.mux.HandleFunc("GET "+Prefix+pattern, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, on.path(r), http.StatusSeeOther)
		})
	}
	s.post(pattern, func(w http.ResponseWriter, r *http.Request) {
		s.visited(w, r, func(v *visit) error {
			if err := v.readForm(); err != nil {
				return err
			}
			err := do(w, v)
			if err == nil {
				return nil
			}
			if faultOf(err).Status >= http.StatusInternalServerError {
				return err // the page would ask who gave no answer, and wait as long again
			}
			p, loadErr := on.load(r.Context(), v)
			if loadErr != nil {
				return err
			}
			f := s.judged(v, err)
			p.Notice = &notice{Bad: true, Text: f.Detail, Hint: f.Hint}
			return s.write(w, f.Status, v, on.template, p)
		})
	})
}

// path is where a screen stands, with what a request has in the place of the
// names in its pattern.
func (on *screen) path(r *http.Request) string {
	segments := strings.Split(strings.Trim(on.pattern, "/"), "/")
	for i, name := range segments {
		if strings.HasPrefix(name, "{") {
			segments[i] = r.PathValue(strings.Trim(name, "{}"))
		}
	}
	return pathTo(segments...)
}

// post adds what changes something.
func (s *server) post(pattern string, do http.HandlerFunc) {
	s.posts = append(s.posts, pattern)
	s.mux.HandleFunc("POST "+Prefix+pattern, do)
}

// maxForm bounds a form: a reason and a filter.
const maxForm = 64 << 10

func (s *server) visited(w http.ResponseWriter, r *http.Request, do func(*visit) error) {
	who, err := s.visitorOf(r)
	if err == nil {
		err = do(&visit{Request: r, who: who, ask: &ask{s.config.API, r}, since: s.live.position()})
	}
	if err != nil {
		s.fail(w, r, who, err)
	}
}

// judged tells what an error comes to, and logs one that nobody asked for.
func (s *server) judged(v *visit, err error) *fault {
	f := faultOf(err)
	if f.Status == http.StatusInternalServerError && v.Context().Err() == nil {
		s.log.Error("console request failed", zap.String("path", v.Pattern), zap.String("identity", v.who.Name), zap.Error(err))
	}
	return f
}
