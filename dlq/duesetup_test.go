package dlq_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// The people of the tests.
var (
	operator = dlq.Actor{Name: "otto@example.com", Role: dlq.Operator}
	security = dlq.Actor{Name: "sara@example.com", Role: dlq.Security}
)

// fixture is a queue on the embedded Firestore, with lanes that tests drive.
type fixture struct {
	t        *testing.T
	catalog  *contracts.Catalog
	server   *localfirestore.Server // nil on Google's
	db       *firestore.Client
	store    *dlqfirestore.Store
	queue    *dlq.Queue
	lanes    *lanes
	registry *prometheus.Registry
	config   dlq.SiblingConfig
	patience time.Duration // of eventually
}

// setup starts an embedded Firestore. Leaks are looked for when all is closed.
func setup(t *testing.T) *fixture {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) })
	server, address := firestoretest.Start(t, localfirestore.Options{})
	f := setupOn(t, address)
	f.server = server
	return f
}

// setupOnGoogle uses Google's emulator, or skips the test where none runs.
func setupOnGoogle(t *testing.T) *fixture {
	t.Helper()
	return setupOn(t, firestoretest.OnGoogle(t))
}

// setupOn makes replays of SAFE_AUTO follow each other at once.
func setupOn(t *testing.T, address string) *fixture {
	t.Helper()
	db := firestoretest.Client(t, address)
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	catalog.Replay = contracts.ReplayPolicy{Delays: slices.Repeat([]time.Duration{10 * time.Millisecond}, 5), RatePerSecond: 1000}
	f := &fixture{t: t, catalog: catalog, db: db, store: dlqfirestore.New(db), registry: prometheus.NewRegistry()}
	f.lanes = &lanes{rounds: make(map[string]int), outboxes: []string{"wsOutbox", "accOutbox", "orgOutbox", "tagOutbox"}}
	f.config = dlq.SiblingConfig{
		Log: zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel)), Metrics: dlq.NewMetrics(f.registry),
		Poll: 200 * time.Millisecond, PauseMin: 50 * time.Millisecond, PauseMax: 200 * time.Millisecond,
		RetryMin: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond, GaugeEvery: 50 * time.Millisecond,
		Bulk: dlq.BulkPace{
			RampStep: 20 * time.Millisecond, Ask: 10 * time.Millisecond, Follow: 20 * time.Millisecond, FollowMax: 200 * time.Millisecond, Save: 50 * time.Millisecond,
		},
	}
	f.patience = 90 * time.Second
	f.queue = f.newQueue(f.store)
	return f
}

// newQueue makes a queue of another process, as it were.
func (f *fixture) newQueue(store dlq.Store) *dlq.Queue {
	f.t.Helper()
	q, err := dlq.New(dlq.Config{Store: store, Catalog: f.catalog})
	if err != nil {
		f.t.Fatal(err)
	}
	return q
}

// sibling is what the relay runs.
type sibling interface {
	Run(ctx context.Context) error
}

// start runs a sibling until stop, which waits for its end, or the test's end.
func (f *fixture) start(s sibling, err error) (stop func()) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Errorf("sibling ended with %v", err)
		}
	})
	f.t.Cleanup(stop)
	return stop
}

func (f *fixture) replayer() func() {
	f.t.Helper()
	r, err := dlq.NewReplayer(f.queue, f.lanes, f.config)
	return f.start(r, err)
}

func (f *fixture) review() func() {
	f.t.Helper()
	r, err := dlq.NewReview(f.queue, f.lanes, f.config)
	return f.start(r, err)
}

func (f *fixture) freezer(alerts dlq.Alerts) func() {
	f.t.Helper()
	r, err := dlq.NewFreezer(f.queue, f.lanes, alerts, f.config)
	return f.start(r, err)
}

// letter is a dead letter of a record of the outbox, due now if it is SAFE_AUTO.
func (f *fixture) letter(outbox, eventType, aggregate string, version int64) *dlq.Item {
	now := time.Now().UTC().Truncate(time.Microsecond)
	i := dlqtest.Letter(f.catalog, outbox, eventType, aggregate, version, now)
	if i.Tier == contracts.SafeAuto {
		i.NextReplayAt = now
	}
	return i
}

// bury writes dead letters as the relay does, with their records, and rings.
func (f *fixture) bury(items ...*dlq.Item) {
	f.t.Helper()
	for some := range slices.Chunk(items, 50) {
		var writes []dlq.Write
		for n, i := range some {
			outbox, id, _ := strings.Cut(i.RecordPath, "/")
			writes = append(writes, i.Burial(n > 0)...)
			writes = append(writes, dlq.Write{Collection: outbox, ID: id, Op: dlq.OpSet, Fields: dlqtest.Record(i)})
		}
		if _, err := f.store.Commit(f.t.Context(), writes); err != nil {
			f.t.Fatal(err)
		}
	}
	f.queue.Ring(dlq.BellReplays)
	f.queue.Ring(dlq.BellAlerts)
}

// die buries a new dead letter.
func (f *fixture) die(outbox, eventType, aggregate string, version int64) *dlq.Item {
	f.t.Helper()
	i := f.letter(outbox, eventType, aggregate, version)
	f.bury(i)
	return i
}

func (f *fixture) item(id string) *dlq.Item {
	f.t.Helper()
	i, err := f.queue.Item(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return i
}

// decide takes a decision that must succeed.
func (f *fixture) decide(id string, a dlq.Action, by dlq.Actor) {
	f.t.Helper()
	if _, err := f.queue.Decide(f.t.Context(), id, dlq.Decide{Action: a, Actor: by, Reason: "because"}); err != nil {
		f.t.Fatal(err)
	}
}

// eventually waits until ok.
func (f *fixture) eventually(what string, ok func() bool) {
	f.t.Helper()
	deadline := time.NewTimer(f.patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			f.t.Fatalf("in vain: %s", what)
		case <-tick.C:
		}
	}
}

// settles waits until a number stays what it is for a while, and returns it.
func (f *fixture) settles(what string, number func() int) int {
	f.t.Helper()
	last, since := number(), 0
	f.eventually(what, func() bool {
		if n := number(); n != last {
			last, since = n, 0
		}
		since++
		return since > 30
	})
	return last
}

// quiet waits until nobody reads dead letters any more.
func (f *fixture) quiet() {
	f.t.Helper()
	var reads atomic.Int64
	remove := f.server.Faults().Add(localfirestore.Fault{
		Method: "RunQuery", Collection: contracts.CollectionDeadLetters, Match: func(localfirestore.Call) bool { reads.Add(1); return false },
	})
	defer remove()
	f.settles("nobody looks", func() int { return int(reads.Load()) })
}

// reaches waits until the item has a state.
func (f *fixture) reaches(id string, want contracts.DeadState) *dlq.Item {
	f.t.Helper()
	var i *dlq.Item
	f.eventually(id+" is "+string(want), func() bool { i = f.item(id); return i.State == want })
	return i
}

// counter reads a metric; labels are those of its value, in the order of their names.
func (f *fixture) counter(name string, labels ...string) float64 {
	f.t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var got []string
			for _, l := range m.GetLabel() {
				got = append(got, l.GetValue())
			}
			if family.GetName() == name && slices.Equal(got, labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	f.t.Fatalf("no metric %s%v", name, labels)
	return 0
}

// lanes is where replays go. Without a plan every round reaches every target.
type lanes struct {
	mu       sync.Mutex
	outboxes []string
	plan     func(ctx context.Context, i *dlq.Item, round int) (dlq.Round, error)
	rounds   map[string]int // by item
	order    []string       // items, as their rounds began
	targets  [][]string     // pending targets, the same
	running  int
	most     int
}

func (l *lanes) Owned() []string { return l.outboxes }

func (l *lanes) Owns(i *dlq.Item) bool { return slices.Contains(l.outboxes, i.Outbox) }

func (l *lanes) Replay(ctx context.Context, i *dlq.Item) (dlq.Round, error) {
	l.mu.Lock()
	l.rounds[i.ID]++
	l.order = append(l.order, i.ID)
	l.targets = append(l.targets, i.PendingTargets)
	l.running++
	l.most = max(l.most, l.running)
	round, plan := l.rounds[i.ID], l.plan
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
	}()
	if plan == nil {
		return dlq.Round{Acked: i.PendingTargets}, nil
	}
	return plan(ctx, i, round)
}

// atOnce is how many rounds were under way at once, at most.
func (l *lanes) atOnce() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most
}

// follow sets the plan.
func (l *lanes) follow(plan func(ctx context.Context, i *dlq.Item, round int) (dlq.Round, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plan = plan
}

func (l *lanes) count(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rounds[id]
}

func (l *lanes) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.order)
}

func (l *lanes) sequence() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.order)
}

// fails is a round in which every target refused the record.
func fails(i *dlq.Item) dlq.Round {
	var r dlq.Round
	for _, target := range i.PendingTargets {
		r.Failed = append(r.Failed, contracts.AttemptError{At: time.Now(), Attempt: 4, Target: target, Code: "Internal", Message: "still no"})
	}
	return r
}
