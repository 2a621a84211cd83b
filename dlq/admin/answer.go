package admin

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// answer is a response in memory. It is sent when it is whole, so that a failure
// on the way is told as one.
type answer struct {
	header http.Header
	status int // 0: none yet
	body   bytes.Buffer
}

var _ http.ResponseWriter = (*answer)(nil)

func newAnswer() *answer { return &answer{header: make(http.Header)} }

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. The first status stays.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// refuse replaces whatever stands there by a problem.
func (a *answer) refuse(p *Problem, asked *url.URL) {
	p.Instance = instance(asked)
	a.header, a.status = make(http.Header), p.Status
	maps.Copy(a.header, p.header)
	a.header.Set("Content-Type", problemType)
	a.body.Reset()
	_ = encode(&a.body, p) // strings and numbers: they can be encoded
}

// send writes the answer. Answers are for who asked, at this moment: nobody may keep them.
func (a *answer) send(w http.ResponseWriter) {
	h := w.Header()
	maps.Copy(h, a.header)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(a.body.Len()))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // an error means that the client has gone
}

func encode(w *bytes.Buffer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
