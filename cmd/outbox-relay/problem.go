package main

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// problem is an RFC 9457 problem document. Its type is about:blank: the title is
// the status's own.
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`
}

func writeProblem(w http.ResponseWriter, r *http.Request, status int, detail string) {
	body, _ := json.Marshal(problem{ // which cannot fail
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Instance: r.URL.Path,
	})
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // so that a flush completes it
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has gone
}
