package console_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/poll"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/console"
	"outboxrelay/dlq/console/consoletest"
	"outboxrelay/dlq/dlqtest"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/dlq/follower"
	"outboxrelay/dlq/sibling"
	"outboxrelay/dlq/trace"
)

// fixture is the console over a real queue on an embedded Firestore, with the
// queue's siblings at work and lanes that tests drive.
type fixture struct {
	t       testing.TB
	catalog *contracts.Catalog
	server  *localfirestore.Server
	db      *dlqfirestore.Client
	store   *dlqfirestore.Store
	queue   *dlq.Queue
	lanes   *lanes
	status  *status
	work    *work
	who     auth.Authenticator
	mode    auth.Mode
	web     *httptest.Server
	console *console.Server
	handler atomic.Pointer[http.Handler] // of the service that runs
	end     func()                       // of its siblings
	url     string                       // of the service
}

// setup starts all of it, in mode dev unless change says otherwise, for a test that
// from here on runs beside others: all that it uses but the browser is its own.
func setup(t *testing.T, change ...func(*fixture)) *fixture {
	t.Helper()
	t.Parallel()
	server, address := firestoretest.Start(t, localfirestore.Options{})
	db := firestoretest.Client(t, address)
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, catalog: catalog, server: server, db: db, store: dlqfirestore.New(db), mode: auth.ModeDev, status: newStatus(catalog)}
	f.lanes = &lanes{}
	for _, o := range catalog.Outboxes {
		f.lanes.outboxes = append(f.lanes.outboxes, o.Name)
	}
	if f.queue, err = dlq.New(dlq.Config{Store: f.store, Catalog: catalog, Log: f.log()}); err != nil {
		t.Fatal(err)
	}
	f.web = httptest.NewUnstartedServer(nil)
	f.url = "http://" + f.web.Listener.Addr().String()
	if f.who, err = auth.New(auth.Config{Mode: auth.ModeDev, ListenAddr: f.web.Listener.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	f.work = newWork(f)
	for _, c := range change {
		c(f)
	}
	f.serve()
	return f
}

// api is the admin API over a queue.
func (f *fixture) api(store dlq.Store, queue *dlq.Queue, change func(*admin.Config)) http.Handler {
	f.t.Helper()
	c := admin.Config{
		Letters: queue, Replays: queue, Freezes: queue, Lanes: queue, History: history{queue, trace.New(store, queue, f.catalog)},
		Catalog: f.catalog, Status: f.status, Authenticator: f.who,
	}
	if f.work != nil {
		c.Queues = f.work.desk
	}
	change(&c)
	api, err := admin.New(c)
	f.must(err)
	return api
}

// history is what was done, and the way of records.
type history struct {
	*dlq.Queue
	*trace.Finder
}

func (f *fixture) log() *zap.Logger { return zaptest.NewLogger(f.t, zaptest.Level(zap.WarnLevel)) }

// serve starts a service and lets the web server answer with it.
func (f *fixture) serve() {
	f.t.Helper()
	f.begin()
	f.web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*f.handler.Load()).ServeHTTP(w, r) })
	f.web.Start()
	f.t.Cleanup(func() {
		f.console.Close()
		f.web.CloseClientConnections()
		f.web.Close()
		f.end()
	})
}

// restart puts another process in the place of the service, as it were: what is
// not in Firestore is lost.
func (f *fixture) restart() {
	f.t.Helper()
	gone := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	f.handler.Store(&gone)
	f.console.Close()
	f.web.CloseClientConnections()
	f.end()
	var err error
	f.queue, err = dlq.New(dlq.Config{Store: f.store, Catalog: f.catalog, Log: f.log()})
	f.must(err)
	f.begin()
}

// begin starts the siblings, the API and the console.
func (f *fixture) begin() {
	f.t.Helper()
	config := dlqtest.Config{
		Config:   sibling.Config{Log: f.log(), Poll: 200 * time.Millisecond, RetryMin: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond},
		PauseMin: 50 * time.Millisecond, PauseMax: 200 * time.Millisecond, GaugeEvery: time.Second,
		RampStep: 200 * time.Millisecond, Ask: 20 * time.Millisecond, Follow: 50 * time.Millisecond, Save: 100 * time.Millisecond,
	}
	replayer, err := dlqtest.Replayer(f.queue, f.lanes, config)
	f.must(err)
	review, err := dlqtest.Review(f.queue, f.lanes, config)
	f.must(err)
	freezer, err := dlqtest.Freezer(f.queue, f.lanes, alerts{}, config)
	f.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context) error{replayer.Run, review.Run, freezer.Run} {
		g.Go(func() error { return run(ctx) })
	}
	api := f.api(f.store, f.queue, func(c *admin.Config) { c.Log, c.RatePerSecond, c.Burst = f.log(), 1000, 1000 })
	c, err := console.New(console.Config{API: api, Authenticator: f.who, Mode: f.mode, Catalog: f.catalog, Changes: follower.New(f.queue, f.log()), Status: f.status, SampleEvery: 100 * time.Millisecond, Bells: f.work, Log: f.log()})
	f.must(err)
	f.console = c
	mux := http.NewServeMux()
	mux.Handle(admin.Prefix+"/", api)
	mux.Handle(console.Prefix+"/", c)
	mux.Handle(console.Prefix, c)
	handler := http.Handler(mux)
	f.handler.Store(&handler)
	f.end = func() {
		cancel()
		if err := g.Wait(); err != nil {
			f.t.Errorf("siblings ended with %v", err)
		}
	}
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

type alerts struct{}

func (alerts) Publish(context.Context, []byte, map[string]string) error { return nil }

// letter is a dead letter of a record, as the relay makes it; change may spoil it.
func (f *fixture) letter(outbox, eventType, aggregate string, version int64, change ...func(*dlq.Item)) *dlq.Item {
	now := time.Now().UTC().Truncate(time.Microsecond)
	i := dlqtest.Letter(f.catalog, outbox, eventType, aggregate, version, now)
	i.Errors = nil
	for n := range 3 {
		i.Errors = append(i.Errors, contracts.AttemptError{
			At: now.Add(time.Duration(n-3) * time.Second), Attempt: n + 1, Target: i.PendingTargets[0], Code: "Internal", Message: "the topic refuses the message",
		})
	}
	if i.Tier == contracts.SafeAuto {
		i.NextReplayAt = now.Add(time.Hour) // tests ask for replays
	}
	i.Record = record(i)
	for _, c := range change {
		c(i)
	}
	i.Group = dlq.GroupOf(i).ID
	return i
}

// record is the document of an item's record.
func record(i *dlq.Item) map[string]any {
	r := dlqtest.Record(i)
	r["payload"] = map[string]any{"amount": int64(100)}
	return r
}

// bury writes dead letters as the relay does, with their records.
func (f *fixture) bury(items ...*dlq.Item) {
	f.t.Helper()
	for some := range slices.Chunk(items, 50) {
		var writes []dlq.Write
		for _, i := range some {
			outbox, id, _ := strings.Cut(i.RecordPath, "/")
			writes = append(writes, i.Burial(false)...)
			writes = append(writes, dlq.Write{Collection: outbox, ID: id, Op: dlq.OpSet, Fields: i.Record})
		}
		_, err := f.store.Commit(context.Background(), writes)
		f.must(err)
	}
	f.queue.Ring(dlq.BellReplays)
	f.queue.Ring(dlq.BellAlerts)
}

// die buries a new dead letter.
func (f *fixture) die(outbox, eventType, aggregate string, version int64, change ...func(*dlq.Item)) *dlq.Item {
	f.t.Helper()
	i := f.letter(outbox, eventType, aggregate, version, change...)
	f.bury(i)
	return i
}

func (f *fixture) item(id string) *dlq.Item {
	f.t.Helper()
	i, err := f.queue.Item(context.Background(), id)
	f.must(err)
	return i
}

// eventually waits until ok.
func (f *fixture) eventually(what string, ok func() bool) {
	f.t.Helper()
	if !poll.True(2*time.Minute, 10*time.Millisecond, ok) {
		f.t.Fatalf("in vain: %s", what)
	}
}

// person is a browser without scripts.
type person struct {
	f      *fixture
	client *http.Client
}

// person is somebody in mode dev.
func (f *fixture) person(as string) *person {
	f.t.Helper()
	jar, err := cookiejar.New(nil)
	f.must(err)
	p := &person{f, &http.Client{Jar: jar}}
	f.t.Cleanup(p.client.CloseIdleConnections)
	if as != "" {
		at, _ := url.Parse(f.url + console.Prefix + "/")
		jar.SetCookies(at, []*http.Cookie{{Name: consoletest.Cookie, Value: as, Path: console.Prefix}})
	}
	return p
}

// get loads a page below /console and returns its status and text.
func (p *person) get(path string) (int, string) {
	p.f.t.Helper()
	return p.read(p.client.Get(p.f.url + console.Prefix + path))
}

// post sends a form as the console's own page does, and follows to where that leads.
func (p *person) post(path string, form url.Values) (int, string) {
	p.f.t.Helper()
	r, err := http.NewRequestWithContext(p.f.t.Context(), http.MethodPost, p.f.url+console.Prefix+path, strings.NewReader(form.Encode()))
	p.f.must(err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return p.read(p.client.Do(r))
}

func (p *person) read(resp *http.Response, err error) (int, string) {
	p.f.t.Helper()
	p.f.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	p.f.must(err)
	return resp.StatusCode, string(body)
}

// lanes is where replays go. Without a plan every round reaches every target.
type lanes struct {
	mu       sync.Mutex
	outboxes []string
	plan     func(i *dlq.Item) (dlq.Round, error)
}

func (l *lanes) Owned() []string { return l.outboxes }

func (l *lanes) Owns(*dlq.Item) bool { return true }

func (l *lanes) Pin(*dlq.Item) (release func(), ok bool) { return func() {}, true }

func (l *lanes) Replay(_ context.Context, i *dlq.Item) (dlq.Round, error) {
	l.mu.Lock()
	plan := l.plan
	l.mu.Unlock()
	if plan == nil {
		return dlq.Round{Acked: i.PendingTargets}, nil
	}
	return plan(i)
}

// follow sets the plan.
func (l *lanes) follow(plan func(i *dlq.Item) (dlq.Round, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plan = plan
}

// status is how the instance does, as tests say.
type status struct {
	mu       sync.Mutex
	lanes    []admin.LaneStatus
	outboxes []admin.OutboxStatus
	targets  []admin.TargetStatus
	stopping bool
}

func newStatus(c *contracts.Catalog) *status {
	s := &status{}
	for _, lane := range contracts.Lanes() {
		s.lanes = append(s.lanes, admin.LaneStatus{Lane: lane, SLA: c.Lanes[lane].SLA, P50: 2 * time.Millisecond, P99: 9 * time.Millisecond, Delivered: 1000})
	}
	for _, o := range c.Outboxes {
		s.outboxes = append(s.outboxes, admin.OutboxStatus{
			Outbox: o.Name, Shards: 1, Slice: o.Slice, Owner: "relay-1", Since: time.Now().Add(-time.Hour), Lease: "held", Here: true, Ready: true, Pending: new(int64(0)),
			SweptAt: time.Now(), Listeners: []admin.ListenerStatus{{Listener: "CRITICAL_LANE", State: "alive", ProvenAt: time.Now(), CanaryMillis: 3}},
		})
	}
	for name := range c.Targets {
		s.targets = append(s.targets, admin.TargetStatus{Target: name, State: "closed", Since: time.Now().Add(-time.Hour)})
	}
	slices.SortFunc(s.targets, func(a, b admin.TargetStatus) int { return strings.Compare(a.Target, b.Target) })
	return s
}

func (s *status) Targets() []admin.TargetStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.targets)
}

func (s *status) Instance() admin.InstanceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return admin.InstanceStatus{Name: "relay-1", Stopping: s.stopping}
}

// set changes how the instance does.
func (s *status) set(change func(*status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *status) Lanes() []admin.LaneStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lanes)
}

func (s *status) Outboxes() []admin.OutboxStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.outboxes)
}

func (s *status) QueueOwner() string { return "relay-1" }
