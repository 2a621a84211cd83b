package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"outboxrelay/dlq/admin"
)

// ask puts questions to the admin API in the name of a visitor, in the process
// and through the API's whole handler.
type ask struct {
	api     http.Handler
	visitor *http.Request // whose headers say who asks, and from where
}

// apiPath joins segments of a path below the API's root, each escaped.
func apiPath(segments ...string) string {
	var p strings.Builder
	for _, s := range segments {
		p.WriteString("/" + url.PathEscape(s))
	}
	return p.String()
}

// get reads what stands at path into a value. A refusal is an *admin.Problem.
func get[T any](ctx context.Context, a *ask, path string, query url.Values) (*T, error) {
	return decoded[T](a.do(ctx, http.MethodGet, path, query, nil, nil))
}

// post sends body as JSON. A refusal is an *admin.Problem.
func post[T any](ctx context.Context, a *ask, path string, body any, header http.Header) (*T, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return decoded[T](a.do(ctx, http.MethodPost, path, nil, data, header))
}

func decoded[T any](data []byte, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	into := new(T)
	if err := json.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("decode the admin API's answer: %w", err)
	}
	return into, nil
}

// passedOn are the headers of a visitor's request that the API gets to see: who
// asks, and which page sent it. Cookies and all that concerns the page itself
// stay out.
var passedOn = []string{"Authorization", "X-Goog-Iap-Jwt-Assertion", "Origin", "Sec-Fetch-Site"}

// do sends one request and returns the answer's body, or what the API refuses
// it for.
func (a *ask) do(ctx context.Context, method, path string, query url.Values, body []byte, header http.Header) ([]byte, error) {
	target := admin.Prefix + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	r.Host, r.RemoteAddr, r.RequestURI = a.visitor.Host, a.visitor.RemoteAddr, target
	// A link from elsewhere may open a page, and what that looks up on the way
	// changes nothing: a bulk replay's dry run is a POST all the same.
	opened := a.visitor.Method == http.MethodGet && a.visitor.Header.Get("Sec-Fetch-Dest") == "document"
	for _, name := range passedOn {
		if opened && (name == "Origin" || name == "Sec-Fetch-Site") {
			continue
		}
		if values, ok := a.visitor.Header[name]; ok {
			r.Header[name] = slices.Clone(values)
		}
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(r.Header, header)
	answer := &answer{header: make(http.Header)}
	a.api.ServeHTTP(answer, r)
	if answer.status >= http.StatusBadRequest {
		p := &admin.Problem{}
		if err := json.Unmarshal(answer.body.Bytes(), p); err != nil || p.Status == 0 {
			return nil, fmt.Errorf("the admin API answers %d without a problem document", answer.status)
		}
		return nil, p
	}
	return answer.body.Bytes(), nil
}

// answer is the API's answer in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
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
