package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/console"
)

// pages are what a server answers, by path. All are read-only.
type pages map[string]http.Handler

// ServeHTTP answers GET and HEAD on its paths, and anything else with a problem
// document.
func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	page, ok := p[r.URL.Path]
	switch {
	case !ok:
		writeProblem(w, r, http.StatusNotFound, "nothing is served under this path")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		writeProblem(w, r, http.StatusMethodNotAllowed, r.Method+" is not allowed here")
	default:
		page.ServeHTTP(w, r)
	}
}

// site is all that a server answers: its pages, and the admin API and the
// console, which judge for themselves who asks for what.
type site struct {
	pages   pages
	api     http.Handler
	console http.Handler
}

// ServeHTTP leads a request to one of them.
func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case under(r, admin.Prefix):
		s.api.ServeHTTP(w, r)
	case under(r, console.Prefix):
		s.console.ServeHTTP(w, r)
	default:
		s.pages.ServeHTTP(w, r)
	}
}

func under(r *http.Request, prefix string) bool {
	return r.URL.Path == prefix || strings.HasPrefix(r.URL.Path, prefix+"/")
}

// healthSource tells the state of this instance, as JSON will carry it, and
// whether it can do any work at all.
type healthSource func() (state any, ready bool)

// servicePages are those of every instance. /alive and /ready are other names of
// /healthz and /readyz, for who asks through Cloud Run: its front end keeps some
// paths that end in z to itself.
func servicePages(health healthSource, metrics prometheus.Gatherer) pages {
	return pages{
		"/":        http.RedirectHandler(console.Prefix+"/", http.StatusFound),
		"/healthz": http.HandlerFunc(alive),
		"/alive":   http.HandlerFunc(alive),
		"/readyz":  readiness(health),
		"/ready":   readiness(health),
		"/metrics": promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}),
	}
}

// watchedBy lets a heart answer whether the process is alive.
func (p pages) watchedBy(h *heart) pages {
	p["/healthz"], p["/alive"] = h, h
	return p
}

// alive says only that the process answers: a platform kills what does not, so
// nothing that a restart would not mend may fail it.
func alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprintln(w, "ok")
}

func readiness(health healthSource) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		state, ready := health()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if !ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(state) // an error means that the client has gone
	})
}

// listen opens addr for HTTP. hint tells what to do where the port is taken.
func listen(addr, hint string) (net.Listener, error) {
	lis, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: the port is taken; %s", addr, hint)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return lis, nil
}

// newHTTPServer bounds what a client may take. Bodies are small, as the admin
// API sees to, and it gives up on a request long before the answer's time is
// over. A header may hold an identity token or two.
func newHTTPServer(handler http.Handler, log *zap.Logger) *http.Server {
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          zap.NewStdLog(log.Named("http")),
	}
	cutAtShutdown(srv)
	return srv
}

// serveHTTP serves until the server is shut down, which is no error.
func serveHTTP(srv *http.Server, lis net.Listener) error {
	if err := srv.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// shutHTTP lets running requests end until ctx does, and then cuts them off.
func shutHTTP(ctx context.Context, srv *http.Server) error {
	if err := srv.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("shut down http: %w", err), srv.Close())
	}
	return nil
}
