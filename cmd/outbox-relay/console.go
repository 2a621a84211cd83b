package main

import (
	"context"
	"embed"
	"html/template"
	"net/http"
	"time"

	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/contracts"
	"outboxrelay/relay"
)

//go:embed console
var consoleFiles embed.FS

var consolePage = template.Must(template.New("index.html").Funcs(template.FuncMap{
	"clock": func(t time.Time) string { return t.Format(time.TimeOnly) },
}).ParseFS(consoleFiles, "console/index.html"))

// consolePolicy lets the page load its own style sheet, and nothing else.
const consolePolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// consoleView is what the page shows.
type consoleView struct {
	relay.Health
	Queue demo.Queue
	Tiers []contracts.Tier
}

// addConsole adds a page that shows how a relay does, and what stands in its
// dead-letter queue. It changes nothing, and is for loopback only, as it asks
// nobody who they are.
func (p pages) addConsole(health func() relay.Health, queue func(context.Context) (demo.Queue, error)) {
	p["/"] = http.RedirectHandler("/console/", http.StatusFound)
	p["/console"] = p["/"]
	p["/console/"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counts, err := queue(r.Context())
		if err != nil {
			writeProblem(w, r, http.StatusServiceUnavailable, "the dead-letter queue cannot be counted now")
			return
		}
		header := w.Header()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", consolePolicy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		_ = consolePage.Execute(w, consoleView{health(), counts, contracts.Tiers()}) // an error means that the client has gone
	})
	p["/console/style.css"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, consoleFiles, "console/style.css")
	})
}
