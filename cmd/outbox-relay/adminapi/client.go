package adminapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"

	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/dlq"
)

const (
	// root is where the API is mounted.
	root = "/admin/v1"
	// requestWithin bounds one request; the API gives up on its own after 15 s.
	requestWithin = 30 * time.Second
	// maxAnswer bounds an answer: a page of 200 dead letters with long errors
	// stays far below it.
	maxAnswer = 64 << 20
	// readAgain is how often a GET is tried in all, where the answer says that
	// another time may be better, and comes soon.
	readAgain = 3
	// patience is after how long a GET is not tried again: an API that waited 15 s for its database
	// has tried for us.
	patience = 10 * time.Second
	// longestPause bounds what an answer's Retry-After may ask for.
	longestPause = 10 * time.Second
)

// Config says where the API is, and who asks.
type Config struct {
	URL   string // of the service: scheme, host and port; a path in front of /admin/v1 is kept, less slashes at its end
	Token Token  // nil: none is sent
	// Pause before a GET is tried again, where the answer names none. 0: half a second.
	Pause time.Duration
}

// Client asks the API. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token Token
	pause time.Duration
	http  *http.Client
}

// New checks the configuration. It contacts nobody. A token is refused where it
// would travel in the clear.
func New(c Config) (*Client, error) {
	base, err := url.Parse(c.URL)
	switch {
	case err == nil && base.User != nil:
		return nil, errors.New("the URL of a service has no user, query or fragment")
	case strings.Contains(c.URL, "@") && (err != nil || base.Host == ""): // a password may stand before it
		return nil, errors.New("the URL has a user and is no URL of a service: want https://HOST")
	case err != nil:
		return nil, fmt.Errorf("read URL of the service: %w", err)
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, fmt.Errorf("%q is no URL of a service: want https://HOST", c.URL)
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("the URL of a service has no user, query or fragment")
	case c.Token != nil && base.Scheme == "http" && !loopback(base.Hostname()):
		return nil, fmt.Errorf("http://%s would carry the token in the clear: use https, or a proxy on this machine", base.Host)
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), strings.TrimRight(base.RawPath, "/")
	if c.Pause == 0 {
		c.Pause = 500 * time.Millisecond
	}
	return &Client{
		base: base, token: c.Token, pause: c.Pause,
		http: &http.Client{
			Timeout: requestWithin,
			// A redirect would carry the token on, or lead to somebody's login page.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Path joins segments of a path below the API's root, each escaped.
func Path(segments ...string) string {
	var p strings.Builder
	for _, s := range segments {
		p.WriteString("/" + url.PathEscape(s))
	}
	return p.String()
}

// LetterPath is where the API has a dead letter, and what more it has of it.
func LetterPath(id string, more ...string) string {
	return Path(append([]string{"dlq", dlq.LetterName(id)}, more...)...)
}

// Get reads what stands at path. It tries again where the service is away for a
// moment. The answer's JSON is returned as it came and, unless into is nil,
// decoded into it.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) (json.RawMessage, error) {
	began := time.Now()
	for tries := 1; ; tries++ {
		answer, err := c.do(ctx, http.MethodGet, path, query, nil, into)
		pause, again := c.pauseAfter(err)
		if !again || tries == readAgain || time.Since(began) > patience {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Post sends body as JSON, once.
func (c *Client) Post(ctx context.Context, path string, body, into any) (json.RawMessage, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return c.do(ctx, http.MethodPost, path, nil, data, into)
}

// do sends one request. One that is refused for its token gets a second chance
// with a fresh one, where there can be one: tokens expire while a long bulk
// replay is followed.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body []byte, into any) (json.RawMessage, error) {
	answer, err := c.once(ctx, method, path, query, body)
	if p, ok := errors.AsType[*Problem](err); ok && p.Status == http.StatusUnauthorized && c.token != nil && c.token.Forget() {
		answer, err = c.once(ctx, method, path, query, body)
	}
	if err != nil || into == nil {
		return answer, err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return nil, fmt.Errorf("decode answer of %s: %w", c.base.Host, err)
	}
	return answer, nil
}

func (c *Client) once(ctx context.Context, method, path string, query url.Values, body []byte) (json.RawMessage, error) {
	target := c.base.Scheme + "://" + c.base.Host + c.base.EscapedPath() + root + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != nil {
		token, err := c.token.Get(ctx)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		// Where Cloud Run looks at the caller itself, it takes this one when it is
		// there. Otherwise it takes the other, and the signature out of it, which
		// the relay then misses.
		req.Header.Set("X-Serverless-Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		// The library's error repeats the whole URL. Host and cause say it.
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return nil, &unreachable{fmt.Errorf("ask %s: %w", c.base.Host, err), connected && method == http.MethodPost}
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, &unreachable{fmt.Errorf("read answer of %s: %w", c.base.Host, err), method == http.MethodPost}
	}
	return judge(resp, data)
}

// judge takes an answer apart from a refusal.
func judge(resp *http.Response, data []byte) (json.RawMessage, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // "" for what is none
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return nil, &Problem{
			Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode),
			Detail: "the service redirects to " + resp.Header.Get("Location") + ", where the token must not go",
			Hint:   "give the service's own address with --url",
		}
	case resp.StatusCode >= 400:
		return nil, problemOf(resp, kind, data)
	case kind != "application/json":
		return nil, fmt.Errorf("the answer is %q and no JSON: is this the address of the relay?", kind)
	}
	return data, nil
}

// Passing reports whether a request failed so that the same may be answered a moment
// later: nobody was reached, or who was said so.
func Passing(err error) bool {
	if _, ok := errors.AsType[*unreachable](err); ok {
		return true
	}
	p, ok := errors.AsType[*Problem](err)
	return ok && p.passing()
}

// pauseAfter tells whether a read that failed so may be tried again, and when.
func (c *Client) pauseAfter(err error) (pause time.Duration, again bool) {
	if !Passing(err) {
		return 0, false
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return max(c.pause, min(p.retryAfter, longestPause)), true
	}
	return c.pause, true
}

// unreachable is a request that got no answer. Whoever is there in the service's
// place may have written part of it, as the names in a certificate: it is told in
// one line.
type unreachable struct {
	err  error
	done bool // what was asked for may have been done
}

// mayBeDone is told of a change whose answer is missing.
const mayBeDone = "it is not known whether it was done; look before you ask again"

func (e *unreachable) Error() string {
	text := terminal.Line(e.err.Error())
	if e.done {
		text += "\n" + mayBeDone
	}
	return text
}

func (e *unreachable) Unwrap() error { return e.err }

// retryAfter reads the header in its form of seconds; 0: none.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
