package main

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"outboxrelay/cmd/outbox-relay/heart"
	"outboxrelay/cmd/outbox-relay/web"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/console"
)

// site is all that a server answers: its pages, and the admin API and the
// console, which judge for themselves who asks for what.
type site struct {
	pages   web.Pages
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

// servicePages are those of every instance. /alive and /ready are other names of
// /healthz and /readyz, for who asks through Cloud Run: its front end keeps some
// paths that end in z to itself.
func servicePages(health web.HealthSource, metrics prometheus.Gatherer) web.Pages {
	return web.Pages{
		"/":        http.RedirectHandler(console.Prefix+"/", http.StatusFound),
		"/healthz": http.HandlerFunc(web.Alive),
		"/alive":   http.HandlerFunc(web.Alive),
		"/readyz":  web.Readiness(health),
		"/ready":   web.Readiness(health),
		"/metrics": promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}),
	}
}

// watchedBy lets a heart answer whether the process is alive.
func watchedBy(p web.Pages, h *heart.Heart) web.Pages {
	p["/healthz"], p["/alive"] = h, h
	return p
}
