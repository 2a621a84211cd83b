package web

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Problem is an RFC 9457 problem document. Its type is about:blank: the title is
// the status's own.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`
}

// WriteProblem answers with a problem document of a status.
func WriteProblem(w http.ResponseWriter, r *http.Request, status int, detail string) {
	body, _ := json.Marshal(Problem{ // which cannot fail
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Instance: r.URL.EscapedPath(),
	})
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // so that a flush completes it
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has gone
}
