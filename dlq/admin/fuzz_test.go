package admin_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/dlq/trace"
)

// FuzzRequests sends any query and body to the operations: nothing fails, every
// error is a problem document, and what is no good never reaches the queue.
func FuzzRequests(f *testing.F) {
	f.Add("tier=SAFE_AUTO&limit=3&open=true&from=2026-03-01T00:00:00Z", `{"reason":"because"}`, "7f0c:acc-1:3")
	f.Add("teir=x", `{"filter":{"tier":"SAFE_AUTO"},"dryRun":true,"ratePerSecond":1.5}`, "a%2Fb")
	f.Add("a;b", `{"filter":{"from":"2026-03-01T00:00:00Z","open":false}}`, "%252F")
	f.Add("%zz", `{"reason":"a","Reason":"b"}`, "..")
	f.Add("limit=1e3", `[[[[[[[[[[[[]]]]]]]]]]]]`, "groups")
	f.Add("=", "\xff", "%ff")
	fx := setup(f, func(c *admin.Config) { c.Log, c.RatePerSecond, c.Burst = nil, 1e9, 1e9 })
	f.Fuzz(func(t *testing.T, query, body, id string) {
		if strings.ContainsAny(id, "/?#") {
			id = "x"
		}
		for _, e := range endpoints {
			target := strings.NewReplacer("{id}", id, "{aggregateId}", id, "{lane}", id, "{traceId}", id).Replace(e.pattern)
			r := httptest.NewRequestWithContext(t.Context(), e.method, "http://127.0.0.1:8080/", strings.NewReader(body))
			u, err := r.URL.Parse("http://127.0.0.1:8080" + admin.Prefix + target)
			if err != nil {
				return // no server gets such a path
			}
			r.URL = u
			r.URL.RawQuery = query
			r.Header.Set("Authorization", "Bearer dev-security")
			r.Header.Set("Content-Type", "application/json")
			a := send(t, fx.handler, r)
			if !slices.Contains([]int{200, 202, 400, 404, 405, 413, 414, 422}, a.status) {
				t.Fatalf("%s %s: got %d: %s", e.method, r.URL, a.status, a.body)
			}
			if a.status >= 300 {
				continue
			}
			values, err := url.ParseQuery(query)
			if err != nil {
				t.Fatalf("%s %s was taken with a query that cannot be read", e.method, r.URL)
			}
			for name, list := range values {
				if len(list) != 1 || list[0] == "" {
					t.Fatalf("%s %s was taken with %s %q", e.method, r.URL, name, list)
				}
			}
			if e.method == http.MethodPost && body != "" && !json.Valid([]byte(body)) {
				t.Fatalf("%s %s was taken with %q", e.method, r.URL, body)
			}
		}
	})
}

// FuzzWireRequests sends whatever bytes make an HTTP request, with any method,
// path and headers: the API never fails, and every refusal is a problem document
// that repeats nothing of the body and nothing of a payload.
func FuzzWireRequests(f *testing.F) {
	const credential = "Authorization: Bearer dev-security\r\nContent-Type: application/json\r\n"
	for _, e := range endpoints {
		f.Add([]byte(wireRequest(e.method, admin.Prefix+e.target, credential, e.body)))
	}
	f.Add([]byte(wireRequest("POST", admin.Prefix+"/replays", credential, `{"filter":{"tier":"hunter2"},"dryRun":"hunter2","reason":"hunter2"}`)))
	f.Add([]byte(wireRequest("POST", admin.Prefix+"/dlq/x/discard", credential+"If-Match: \"hunter2\"\r\n", `{"reason":["hunter2"]}`)))
	f.Add([]byte(wireRequest("PATCH", admin.Prefix+"/dlq/%2e%2e/replay", credential+"Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n", "{}")))
	f.Add([]byte(wireRequest("GET", admin.Prefix+"/dlq/../dlq//%00", credential+"Accept: text/html\r\n", "")))
	f.Add([]byte("GET http://other.example/admin/v1/dlq?limit=1 HTTP/1.0\r\n\r\n"))
	f.Add([]byte("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"))
	f.Add([]byte(wireRequest("POST", admin.Prefix+"/lanes/BACKGROUND_LANE/pause", credential+"Transfer-Encoding: chunked\r\n", "")))
	fx := setup(f, func(c *admin.Config) { c.Log, c.RatePerSecond, c.Burst = nil, 1e9, 1e9 })
	f.Fuzz(func(t *testing.T, wire []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(wire)))
		if err != nil || r.Method == http.MethodConnect {
			return // the server answers by itself, or has no such method
		}
		r.RemoteAddr = "127.0.0.1:1" // whose strangers are not held up by those before
		fx.pass(time.Minute)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // cut off: nobody waits for an answer
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		head, _, _ := bytes.Cut(wire, []byte("\r\n\r\n"))
		a := send(t, fx.handler, r.WithContext(t.Context()))
		if a.status >= 500 || a.status < 200 {
			t.Fatalf("got %d: %s", a.status, a.body)
		}
		if a.status < 400 {
			return
		}
		var given any
		_ = json.Unmarshal(body, &given)
		named := bytes.Contains(head, []byte(secret)) || bytes.Contains(body, []byte(secret+`":`)) // a path and a name may be repeated
		if !named && holds(given, secret) && bytes.Contains(a.body, []byte(secret)) {
			t.Fatalf("the problem repeats what the body says: %s", a.body)
		}
	})
}

// secret stands for what nobody but the queue is to hear of.
const secret = "hunter2"

// holds reports whether a text within v has the word in it.
func holds(v any, word string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, word)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return holds(item, word) })
	case map[string]any:
		for _, item := range v {
			if holds(item, word) {
				return true
			}
		}
	}
	return false
}

func wireRequest(method, target, headers, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n%sContent-Length: %d\r\n\r\n%s", method, target, headers, len(body), body)
}

// FuzzLists asks every list of a real queue with any query: it never fails, and
// a page's token opens the next one.
func FuzzLists(f *testing.F) {
	lists := []string{"/dlq", "/dlq/groups", "/replays", "/freezes", "/audit"}
	fx := setup(f, oddLetters(f), func(c *admin.Config) { c.Log, c.RatePerSecond, c.Burst = nil, 1e9, 1e9 })
	for i, list := range lists {
		f.Add(uint8(i), "")
		f.Add(uint8(i), "limit=1")
		var page struct{ NextPageToken string }
		if err := json.Unmarshal(fx.do("dev-viewer", http.MethodGet, list+"?limit=1", "").body, &page); err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), "limit=2&pageToken="+page.NextPageToken)
	}
	f.Add(uint8(0), "tier=REVIEW_REQUIRED&open=true&from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59.999999999Z")
	f.Add(uint8(0), "eventId=%00&eventType=__x__&traceId=..&aggregateId=a%2Fb&outbox=%E2%80%A8&lane=CRITICAL_LANE&state=blocked")
	f.Add(uint8(1), "group=x&reason=CONTRACT_VIOLATION&limit=200")
	f.Add(uint8(4), "actor=%F0%9F%90%A6&subject=freeze&on=.&from=0000-01-01T00:00:00Z")
	f.Add(uint8(3), "pageToken=eyJpZCI6IiJ9")
	f.Fuzz(func(t *testing.T, list uint8, query string) {
		target := lists[int(list)%len(lists)]
		for range 100 {
			r := request(t, "dev-viewer", http.MethodGet, target, "")
			r.URL.RawQuery = query
			a := send(t, fx.handler, r)
			if a.status >= 500 || a.status == http.StatusNotFound {
				t.Fatalf("%s: got %d: %s", r.URL, a.status, a.body)
			}
			var page struct{ NextPageToken string }
			if a.status != http.StatusOK || json.Unmarshal(a.body, &page) != nil || page.NextPageToken == "" {
				return
			}
			values := r.URL.Query()
			values.Set("pageToken", page.NextPageToken)
			query = values.Encode()
			r.URL.RawQuery = query
			if next := send(t, fx.handler, r); next.status != http.StatusOK {
				t.Fatalf("%s: the next page's token gets %d: %s", r.URL, next.status, next.body)
			}
		}
	})
}

// oddLetters has the API work on a queue on a Firestore whose dead letters have
// the oddest IDs that there can be.
func oddLetters(f *testing.F) func(*admin.Config) {
	f.Helper()
	_, address := firestoretest.Start(f, localfirestore.Options{})
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		f.Fatal(err)
	}
	store := dlqfirestore.New(firestoretest.Client(f, address))
	for n, key := range []string{"e:a:1", ".", "..", "__x__", "a/b%", "\u2028", " ", strings.Repeat("&", 1500), strings.Repeat("\x01", 1500), strings.Repeat("\U0001F426", 400)} {
		i := letter()
		i.ID, i.IdempotencyKey, i.AggregateID, i.DeadAt = dlq.ID(key), key, key, died.Add(time.Duration(n)*time.Second)
		i.Tier, i.OriginalTier, i.State = contracts.SecurityBlock, contracts.SecurityBlock, contracts.DeadBlocked
		if _, err := store.Commit(f.Context(), i.Burial(false)); err != nil {
			f.Fatal(err)
		}
	}
	q := &realQueue{store: store, catalog: catalog}
	if q.Queue, err = dlq.New(dlq.Config{Store: store, Catalog: catalog}); err != nil {
		f.Fatal(err)
	}
	q.Finder = trace.New(store, q.Queue, catalog)
	return over(q, catalog)
}
