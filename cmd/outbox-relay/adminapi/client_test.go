package adminapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "s3cret-token"

// setup returns a client of handler with a static token.
func setup(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	c, err := New(Config{URL: server.URL, Token: StaticToken(secret), Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		server.Close()
	})
	return c
}

func answer(w http.ResponseWriter, status int, kind, body string) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func TestRequestIsWhatTheAPIReads(t *testing.T) {
	type seen struct{ Method, URI, Authorization, CloudRuns, ContentType, Body string }
	var got seen
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("X-Serverless-Authorization"), r.Header.Get("Content-Type"), string(body)}
		answer(w, 200, "application/json; charset=utf-8", `{"items":[{"id":"a"}],"nextPageToken":"n"}`)
	})
	var list List[Item]
	if _, err := c.Get(t.Context(), "/dlq", url.Values{"tier": {"SAFE_AUTO"}}, &list); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(seen{"GET", "/admin/v1/dlq?tier=SAFE_AUTO", "Bearer " + secret, "Bearer " + secret, "", ""}, got); diff != "" {
		t.Errorf("GET (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(List[Item]{Items: []Item{{ID: "a"}}, NextPageToken: "n"}, list); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if _, err := c.Post(t.Context(), Path("dlq", "e%2F1:a b/c:1", "replay"), Why{"because"}, nil); err != nil {
		t.Fatal(err)
	}
	want := seen{"POST", "/admin/v1/dlq/e%252F1:a%20b%2Fc:1/replay", "Bearer " + secret, "Bearer " + secret, "application/json", `{"reason":"because"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("POST (-want +got):\n%s", diff)
	}
}

func TestLetterPathIsOfADeadLetter(t *testing.T) {
	for id, want := range map[string]string{"groups": "/dlq/%2567roups/replay", "%67roups": "/dlq/%252567roups/replay", "e%2F1:a b:1": "/dlq/e%252F1:a%20b:1/replay"} {
		if got := LetterPath(id, "replay"); got != want {
			t.Errorf("%q is at %s, want %s", id, got, want)
		}
	}
}

func TestRefusalSaysWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		kind   string
		body   string
		want   string
	}{
		{"a problem document", 409, "application/problem+json", `{"title":"Conflict","status":409,"detail":"it is replayed","hint":"add a note"}`, "conflict: it is replayed\nadd a note"},
		{"a proxy's page", 403, "text/html", "<h1>no</h1>", "forbidden"},
		{"a broken document", 500, "application/problem+json", "{", "internal server error"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := setup(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, tc.status, tc.kind, tc.body) })
			_, err := c.Get(t.Context(), "/dlq", nil, nil)
			p, ok := errors.AsType[*Problem](err)
			if !ok || p.Status != tc.status || p.Error() != tc.want {
				t.Errorf("error %v, want status %d and %q", err, tc.status, tc.want)
			}
		})
	}
}

func TestAnswerThatIsNoJSONIsAnError(t *testing.T) {
	c := setup(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, "text/html", "<p>hello") })
	if _, err := c.Get(t.Context(), "/dlq", nil, nil); err == nil || !strings.Contains(err.Error(), "no JSON") {
		t.Errorf("error %v", err)
	}
}

// The token stays with the host that it was given for.
func TestRedirectIsNotFollowed(t *testing.T) {
	followed := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := setup(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/admin/v1/dlq", status) })
		for name, ask := range map[string]func() error{
			"GET":  func() error { _, err := c.Get(t.Context(), "/dlq", nil, nil); return err },
			"POST": func() error { _, err := c.Post(t.Context(), "/replays", Why{}, nil); return err },
		} {
			p, ok := errors.AsType[*Problem](ask())
			if !ok || p.Status != status || !strings.Contains(p.Error(), other.URL) {
				t.Errorf("%s through %d: %v", name, status, p)
			}
		}
	}
	if followed {
		t.Error("the other host was asked")
	}
}

func TestGetIsTriedAgain(t *testing.T) {
	for _, tc := range []struct {
		name     string
		statuses []int // one after another, then 200
		want     int   // requests
		fails    bool
	}{
		{"at once", nil, 1, false},
		{"away for a moment", []int{503, 429}, 3, false},
		{"away for long", []int{503, 502, 504, 503}, 3, true},
		{"refused", []int{409}, 1, true},
		{"a fault of the service", []int{500}, 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := 0
			c := setup(t, func(w http.ResponseWriter, _ *http.Request) {
				asked++
				if asked <= len(tc.statuses) {
					answer(w, tc.statuses[asked-1], "application/problem+json", `{}`)
					return
				}
				answer(w, 200, "application/json", `{}`)
			})
			_, err := c.Get(t.Context(), "/dlq", nil, nil)
			if asked != tc.want || (err != nil) != tc.fails {
				t.Errorf("asked %d times: %v; want %d times, failing %v", asked, err, tc.want, tc.fails)
			}
		})
	}
}

// A decision is sent once: it may have been taken though its answer was not
// heard.
// waitsAsWell answers as an API does whose database is away: late, and with 503.
type waitsAsWell struct{ asked int }

func (w *waitsAsWell) RoundTrip(*http.Request) (*http.Response, error) {
	w.asked++
	time.Sleep(15 * time.Second)
	recorded := httptest.NewRecorder()
	answer(recorded, http.StatusServiceUnavailable, "application/problem+json", `{"detail":"Firestore did not answer within 15s: DeadlineExceeded"}`)
	return recorded.Result(), nil
}

func TestGetIsNotTriedAgainWhereTheAPIHasWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{URL: "http://127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		api := &waitsAsWell{}
		c.http.Transport = api
		if _, err := c.Get(t.Context(), "/dlq", nil, nil); err == nil || !strings.Contains(err.Error(), "did not answer within 15s") {
			t.Errorf("Get returns %v, want what the API said", err)
		}
		if api.asked != 1 {
			t.Errorf("the API was asked %d times, each of 15 s, want once", api.asked)
		}
	})
}

func TestPostIsSentOnce(t *testing.T) {
	asked := 0
	c := setup(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		answer(w, 503, "application/problem+json", `{}`)
	})
	if _, err := c.Post(t.Context(), "/replays", Why{}, nil); err == nil || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func TestUnreachableService(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := New(Config{URL: server.URL, Token: StaticToken(secret), Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Get(t.Context(), "/dlq", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), secret) {
		t.Errorf("error %v", err)
	}
}

func TestBadAddressIsRefused(t *testing.T) {
	for _, tc := range []struct{ url, want string }{
		{"relay.example.com", "no URL of a service"},
		{"ftp://relay.example.com", "no URL of a service"},
		{"https://", "no URL of a service"},
		{"https://user:pass@relay.example.com", "no user"},
		{"ftp://user:pass@relay.example.com", "no user"},
		{"//user:pass@relay.example.com", "no user"},
		{"user:pass@relay.example.com", "has a user"},
		{"https://user:pass/word@relay.example.com", "has a user"},
		{"https://relay.example.com:port", `invalid port ":port"`},
		{"https://user:pass%zz@relay.example.com", "has a user"},
		{"https://user:pass@relay.example.com:port", "has a user"},
		{"https://relay.example.com?x=1", "no user, query"},
		{"http://relay.example.com", "in the clear"},
		{"http://10.0.0.1:8080", "in the clear"},
	} {
		_, err := New(Config{URL: tc.url, Token: StaticToken(secret)})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New(%q) = %v, want %q", tc.url, err, tc.want)
		}
		if err != nil && (strings.Contains(err.Error(), "pass") || strings.Contains(err.Error(), secret)) {
			t.Errorf("New(%q) tells a secret: %v", tc.url, err)
		}
	}
	for _, good := range []string{"https://relay.example.com", "https://relay.example.com/behind", "http://localhost:1", "http://127.0.0.2:1", "http://[::1]:1"} {
		if _, err := New(Config{URL: good, Token: StaticToken(secret)}); err != nil {
			t.Errorf("New(%q): %v", good, err)
		}
	}
}

func TestPathInFrontIsKept(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.RequestURI
		answer(w, 200, "application/json", `{}`)
	}))
	defer server.Close()
	for in, want := range map[string]string{
		"": "/admin/v1/dlq", "/": "/admin/v1/dlq", "//": "/admin/v1/dlq", "/behind": "/behind/admin/v1/dlq", "/behind/": "/behind/admin/v1/dlq",
		"/a%2Fb/": "/a%2Fb/admin/v1/dlq",
	} {
		c, err := New(Config{URL: server.URL + in})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(t.Context(), "/dlq", nil, nil); err != nil || got != want {
			t.Errorf("%q: asked %s, want %s: %v", in, got, want, err)
		}
		c.Close()
	}
}

// A token that expired is fetched again, once; one that was just made is not.
func TestTokenCommand(t *testing.T) {
	counter := filepath.Join(t.TempDir(), "n")
	command := "printf x >> " + counter + "; wc -c < " + counter // prints 1, 2, ...
	var good, seen string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen = r.Header.Get("Authorization"); seen != "Bearer "+good {
			answer(w, 401, "application/problem+json", `{"title":"Unauthorized"}`)
			return
		}
		answer(w, 200, "application/json", `{}`)
	}))
	defer server.Close()
	c, err := New(Config{URL: server.URL, Token: NewCommandToken(command, io.Discard)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	runs := func() int {
		data, err := os.ReadFile(counter)
		if err != nil {
			t.Fatal(err)
		}
		return len(data)
	}
	ask := func() error { _, err := c.Get(context.WithoutCancel(t.Context()), "/dlq", nil, nil); return err }

	good = "never"
	if err := ask(); err == nil || runs() != 1 {
		t.Errorf("a token that was just made is refused: %v, %d runs of the command, want 1", err, runs())
	}
	good = "1"
	for range 2 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	if got := runs(); got != 1 {
		t.Errorf("the command ran %d times, want once as long as its token is taken", got)
	}
	good = "2"
	if err := ask(); err != nil || runs() != 2 {
		t.Errorf("after the token expired: %v, %d runs of the command", err, runs())
	}
	good = "never"
	if err := ask(); err == nil || runs() != 3 {
		t.Errorf("with a token that is never taken: %v, %d runs of the command, want 3", err, runs())
	}
}

func TestTokenCommandFails(t *testing.T) {
	for _, tc := range []struct{ name, command, want string }{
		{"with an exit code", "echo " + secret + "; exit 3", "run token command: exit status 3"},
		{"without a token", "true", "the token is empty"},
		{"with two lines", "echo " + secret + "; echo more", "holds spaces"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := NewCommandToken(tc.command, io.Discard).Get(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAnswerIsReturnedAsItCame(t *testing.T) {
	c := setup(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, "application/json", `{"later":"field"}`) })
	var item Item
	raw, err := c.Get(t.Context(), "/dlq/x", nil, &item)
	if diff := cmp.Diff(json.RawMessage(`{"later":"field"}`), raw); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
