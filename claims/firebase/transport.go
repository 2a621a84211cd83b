package firebase

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// newBase returns connections of our own. A hundred may stay open: the handler
// runs for as many accounts at once as the lane has workers.
func newBase() *http.Transport {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = 100
	return base
}

// attempt is one call as it went on the wire.
type attempt struct {
	giveUp  context.CancelFunc
	started bool
	err     error       // the connection's
	status  int         // 0: no answer
	header  http.Header // the answer's
}

type attemptKey struct{}

func (a *attempt) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// single keeps the SDK from repeating a call behind the back of the handler's
// rate limit and of a Retry-After: it ends the call's context with the first
// answer that the SDK would repeat, and notes what it was.
type single struct{ next http.RoundTripper }

var errRepeated = errors.New("the answer could not be read")

func (s single) RoundTrip(req *http.Request) (*http.Response, error) {
	a, ok := req.Context().Value(attemptKey{}).(*attempt)
	if !ok { // a request of the credentials' own
		return s.next.RoundTrip(req)
	}
	if a.started {
		a.err = errRepeated
		a.giveUp()
		return nil, errRepeated
	}
	a.started = true
	resp, err := s.next.RoundTrip(req)
	if err != nil {
		a.err = err
		a.giveUp()
		return nil, err
	}
	a.status, a.header = resp.StatusCode, resp.Header
	if resp.StatusCode == http.StatusServiceUnavailable {
		a.giveUp()
	}
	return resp, nil
}

// ownerToken makes a caller the administrator of an emulator.
const ownerToken = "owner"

// emulator sends requests for Google's host to an emulator.
type emulator struct {
	address string
	next    http.RoundTripper
}

func (e emulator) RoundTrip(req *http.Request) (*http.Response, error) {
	to := req.Clone(req.Context())
	to.URL.Path = "/" + req.URL.Host + req.URL.Path
	to.URL.Scheme, to.URL.Host, to.Host = "http", e.address, ""
	to.Header.Set("Authorization", "Bearer "+ownerToken)
	return e.next.RoundTrip(to)
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
