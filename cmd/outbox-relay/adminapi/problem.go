package adminapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Problem is an answer that refuses a request: an RFC 9457 problem document, or
// what a proxy in between said, put into one.
type Problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"` // what is wrong, field by field where there are several
	Hint   string `json:"hint"`   // what to do

	retryAfter time.Duration // 0: not told
}

func problemOf(resp *http.Response, kind string, data []byte) *Problem {
	p := &Problem{}
	switch {
	case kind == "application/problem+json":
		_ = json.Unmarshal(data, p) // what cannot be read says nothing; the status does
	case resp.StatusCode >= http.StatusInternalServerError && resp.Request.Method == http.MethodPost: // a proxy's
		p.Hint = mayBeDone
	}
	p.Status, p.retryAfter = resp.StatusCode, retryAfter(resp.Header)
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	return p
}

// Error tells what is wrong, and what to do about it.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(strings.ToLower(p.Title))
	if p.Detail != "" {
		b.WriteString(": " + p.Detail)
	}
	if p.Hint != "" {
		b.WriteString("\n" + p.Hint)
	}
	return b.String()
}

// passing reports whether the same request may be answered a moment later.
func (p *Problem) passing() bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}
