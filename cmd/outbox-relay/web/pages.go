package web

import (
	"net/http"
)

// Pages are what a server answers, by path. All are read-only.
type Pages map[string]http.Handler

// ServeHTTP answers GET and HEAD on its paths, and anything else with a problem
// document.
func (p Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	page, ok := p[r.URL.Path]
	switch {
	case !ok:
		WriteProblem(w, r, http.StatusNotFound, "nothing is served under this path")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		WriteProblem(w, r, http.StatusMethodNotAllowed, r.Method+" is not allowed here")
	default:
		page.ServeHTTP(w, r)
	}
}
