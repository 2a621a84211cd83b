package admin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxBodyBytes bounds a body whose operation has no other bound.
	maxBodyBytes = 64 << 10
	// bodyWithin bounds how long a body may take to come.
	bodyWithin = 10 * time.Second
)

// wellAsked refuses query parameters that the operation does not know, that come
// twice, or that say nothing. An empty page token says something: the first page, as a
// client has it that turns pages in a loop.
func wellAsked(_ http.ResponseWriter, r *http.Request, c *call) *Problem {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problem(http.StatusBadRequest, "the query cannot be read", "percent-encode what is special in its values")
	}
	if !utf8.ValidString(r.URL.Path) {
		return problem(http.StatusBadRequest, "the path is not text in UTF-8", "percent-encode it")
	}
	hint := "there are no query parameters here"
	if len(c.route.query) > 0 {
		hint = "the query parameters are " + strings.Join(c.route.query, ", ")
	}
	var faults []Fault
	for name, values := range query {
		fault := ""
		switch {
		case !slices.Contains(c.route.query, name):
			fault = "unknown query parameter"
		case len(values) > 1:
			fault = "stands more than once"
		case values[0] == "" && name != "pageToken":
			fault = "is empty: leave it out"
		case !utf8.ValidString(values[0]):
			fault = "is not text in UTF-8"
		}
		if fault != "" {
			faults = append(faults, Fault{"query." + strings.ToValidUTF8(name, "\uFFFD"), fault})
		}
	}
	if len(faults) == 0 {
		return nil
	}
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.Location, b.Location) })
	p := problem(http.StatusUnprocessableEntity, summary(faults), hint)
	p.Errors = faults
	return p
}

// wellSaid reads the body, whole, and refuses one that is too large, of another
// type, or not JSON in its plain form.
func wellSaid(w http.ResponseWriter, r *http.Request, c *call) *Problem {
	if c.route.body == "" {
		return nil
	}
	// The server lifts the deadline at the body's end.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin)) // not every writer has one
	data, err := io.ReadAll(io.LimitReader(r.Body, int64(c.route.maxBody)+1))
	switch {
	case timedOut(err):
		return problem(http.StatusRequestTimeout, "the body did not come in time", "send it again")
	case err != nil:
		return problem(http.StatusBadRequest, "the body could not be read", "send it again")
	case len(data) > c.route.maxBody:
		return problem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", c.route.maxBody), "say it shorter")
	case len(data) == 0 && c.route.body == bodyOptional:
		r.Body = http.NoBody
		return nil
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return problem(http.StatusUnsupportedMediaType, "the body is declared as compressed or otherwise encoded", "send it as it is, without the header Content-Encoding")
	}
	const hint = "send JSON with the header Content-Type: application/json"
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset, given := params["charset"]; err != nil || kind != "application/json" || given && !strings.EqualFold(charset, "utf-8") {
		return problem(http.StatusUnsupportedMediaType, "the body is not declared as JSON", hint)
	}
	if len(data) == 0 {
		return problem(http.StatusBadRequest, "there is no body", hint)
	}
	if err := checkJSON(data); err != nil {
		p := problem(http.StatusBadRequest, "the body cannot be taken: "+err.Error(), "send one JSON object")
		p.Errors = []Fault{{"body", err.Error()}}
		return p
	}
	r.Header.Set("Content-Type", kind) // however it was spelled
	r.Body = io.NopCloser(bytes.NewReader(data))
	return nil
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
