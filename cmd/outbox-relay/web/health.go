package web

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Alive says only that the process answers: a platform kills what does not, so
// nothing that a restart would not mend may fail it.
func Alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprintln(w, "ok")
}

// HealthSource tells the state of this instance, as JSON will carry it, and
// whether it can do any work at all.
type HealthSource func() (state any, ready bool)

// Readiness answers 503 unless health is ready, with its state in any case.
func Readiness(health HealthSource) http.Handler {
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
