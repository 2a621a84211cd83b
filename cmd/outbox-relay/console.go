package main

import (
	"embed"
	"html/template"
	"net/http"
	"time"

	"outboxrelay/relay"
)

//go:embed console
var consoleFiles embed.FS

var consolePage = template.Must(template.New("index.html").Funcs(template.FuncMap{
	"clock": func(t time.Time) string { return t.Format(time.TimeOnly) },
}).ParseFS(consoleFiles, "console/index.html"))

// consolePolicy lets the page load its own style sheet, and nothing else.
const consolePolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// addConsole adds a page that shows how a relay does. It changes nothing, and is
// for loopback only, as it asks nobody who they are.
func (p pages) addConsole(health func() relay.Health) {
	p["/"] = http.RedirectHandler("/console/", http.StatusFound)
	p["/console"] = p["/"]
	p["/console/"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		header := w.Header()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", consolePolicy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		_ = consolePage.Execute(w, health()) // an error means that the client has gone
	})
	p["/console/style.css"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, consoleFiles, "console/style.css")
	})
}
