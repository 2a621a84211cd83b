package admin_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/admin/auth"
)

type adminLane = admin.LaneStatus

func (s fakeStatus) Lanes() []admin.LaneStatus {
	return []admin.LaneStatus{s.lane(contracts.CriticalLane, false), s.lane(contracts.BackgroundLane, true)}
}

func (fakeStatus) QueueOwner() string { return "relay-1" }

func (fakeStatus) Instance() admin.InstanceStatus { return admin.InstanceStatus{Name: "relay-1"} }

func (fakeStatus) Targets() []admin.TargetStatus {
	return []admin.TargetStatus{
		{Target: "CLAIMS_HANDLER", State: "closed", Since: died},
		{Target: "FUNNEL_CRITICAL", State: "open", Since: died, Reason: "Unavailable", Error: "publish: try later", Failures: 5, Waiting: []admin.TargetWaiting{{Outbox: "accOutbox", Records: 3}}},
	}
}

func (fakeStatus) Outboxes() []admin.OutboxStatus {
	return []admin.OutboxStatus{{Outbox: "accOutbox", Shards: 1, Slice: "account", Owner: "relay-1", Since: died, Lease: "held", Here: true, Ready: true, Pending: new(int64(3)), SweptAt: died, Listeners: []admin.ListenerStatus{{Listener: "CRITICAL_LANE", State: "alive"}}}}
}

// fixture is the API in mode dev, on a fake queue unless a test changes that.
type fixture struct {
	t        testing.TB
	queue    *fakeQueue
	work     *fakeWork
	logs     *observer.ObservedLogs
	registry *prometheus.Registry
	handler  http.Handler

	mu  sync.Mutex
	now time.Time
}

func setup(t testing.TB, change ...func(*admin.Config)) *fixture {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	f := &fixture{t: t, queue: &fakeQueue{item: letter()}, logs: logs, registry: prometheus.NewRegistry(), now: time.Now()}
	f.work = newFakeWork(f.queue)
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	dev, err := auth.New(auth.Config{Mode: auth.ModeDev, ListenAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	c := admin.Config{
		Letters: f.queue, Replays: f.queue, Freezes: f.queue, Lanes: f.queue, History: f.queue, Queues: f.work, Catalog: catalog, Status: fakeStatus{}, Authenticator: dev, Log: zap.New(core), Registerer: f.registry,
		Now: func() time.Time { f.mu.Lock(); defer f.mu.Unlock(); return f.now },
	}
	for _, ch := range change {
		ch(&c)
	}
	if f.handler, err = admin.New(c); err != nil {
		t.Fatal(err)
	}
	return f
}

// queue is all that the API needs of one.
type queue interface {
	admin.Letters
	admin.Replays
	admin.Freezes
	admin.Lanes
	admin.History
}

// over has the API work on a queue of a catalog.
func over(q queue, catalog *contracts.Catalog) func(*admin.Config) {
	return func(c *admin.Config) {
		c.Letters, c.Replays, c.Freezes, c.Lanes, c.History, c.Catalog = q, q, q, q, q, catalog
	}
}

// unlimited lets everybody ask as often as they like.
func unlimited(c *admin.Config) { c.RatePerSecond, c.Burst = 1e6, 1e6 }

// pass lets time go by.
func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// reply is an answer, read.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// request makes a request of a dev identity ("" for nobody). target is below /admin/v1.
func request(t testing.TB, who, method, target, body string, headers ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:8080"+admin.Prefix+target, strings.NewReader(body))
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+who)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	return r
}

func (f *fixture) do(who, method, target, body string, headers ...string) reply {
	f.t.Helper()
	return send(f.t, f.handler, request(f.t, who, method, target, body, headers...))
}

// send checks what holds for every answer.
func send(t testing.TB, handler http.Handler, r *http.Request) reply {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := reply{t, w.Code, w.Header(), body}
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s %s: the headers are %v", r.Method, r.URL, a.header)
	}
	switch {
	case a.status >= 400:
		p := a.problem()
		if p.Type != "about:blank" || p.Status != a.status || p.Title != http.StatusText(a.status) || p.Detail == "" || p.Hint == "" {
			t.Errorf("%s %s: status %d with the problem %+v", r.Method, r.URL, a.status, p)
		}
		if (a.status == http.StatusTooManyRequests) && a.header.Get("Retry-After") == "" {
			t.Errorf("%s %s: %d without Retry-After", r.Method, r.URL, a.status)
		}
		if a.status == http.StatusUnauthorized && a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s %s: 401 without a challenge", r.Method, r.URL)
		}
	case !strings.HasSuffix(r.URL.Path, "/openapi.json") && a.header.Get("Content-Type") != "application/json":
		t.Errorf("%s %s: the answer is %q", r.Method, r.URL, a.header.Get("Content-Type"))
	}
	return a
}

// problem reads the answer as the problem document that it must be.
func (a reply) problem() admin.Problem {
	a.t.Helper()
	if kind := a.header.Get("Content-Type"); kind != "application/problem+json" {
		a.t.Fatalf("got %q with status %d, want a problem: %s", kind, a.status, a.body)
	}
	var p admin.Problem
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		a.t.Fatalf("read problem: %v: %s", err, a.body)
	}
	return p
}

// read decodes a success.
func read[T any](a reply, status int) T {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("got status %d, want %d: %s", a.status, status, a.body)
	}
	var v T
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		a.t.Fatalf("read answer: %v: %s", err, a.body)
	}
	return v
}

// refused checks a refusal's status, and that it says something.
func (a reply) refused(status int, says string) {
	a.t.Helper()
	if a.status != status || !strings.Contains(string(a.body), says) {
		a.t.Errorf("got %d %s\nwant %d that says %q", a.status, a.body, status, says)
	}
}
