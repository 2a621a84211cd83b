package dlqtest

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/poll"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/dlq/sibling"
)

// The people of the tests.
var (
	Operator = dlq.Actor{Name: "otto@example.com", Role: dlq.Operator}
	Security = dlq.Actor{Name: "sara@example.com", Role: dlq.Security}
)

// Fixture is a queue on a Firestore of its own, with lanes that tests drive.
type Fixture struct {
	T        *testing.T
	Catalog  *contracts.Catalog
	Server   *localfirestore.Server // nil on Google's
	DB       *dlqfirestore.Client
	Store    *dlqfirestore.Store
	Queue    *dlq.Queue
	Lanes    *Lanes
	Registry *prometheus.Registry // of the siblings' metrics
	Config   Config               // of those that are started from now on
	Patience time.Duration        // of Eventually

	reviewable int // aggregates that Reviewable made
}

// Setup starts an embedded Firestore for a test, which from here on runs beside
// others: all that it uses is its own.
func Setup(t *testing.T) *Fixture {
	t.Helper()
	t.Parallel()
	server, address := firestoretest.Start(t, localfirestore.Options{})
	f := setupOn(t, address)
	f.Server = server
	return f
}

// SetupOnGoogle uses Google's emulator, or skips the test where none runs.
func SetupOnGoogle(t *testing.T) *Fixture {
	t.Helper()
	return setupOn(t, firestoretest.OnGoogle(t))
}

// setupOn makes replays of SAFE_AUTO follow each other at once.
func setupOn(t *testing.T, address string) *Fixture {
	t.Helper()
	db := firestoretest.Client(t, address)
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	catalog.Replay = contracts.ReplayPolicy{Delays: slices.Repeat([]time.Duration{10 * time.Millisecond}, 5), RatePerSecond: 1000}
	f := &Fixture{T: t, Catalog: catalog, DB: db, Store: dlqfirestore.New(db), Registry: prometheus.NewRegistry()}
	f.Lanes = &Lanes{rounds: make(map[string]int), Outboxes: []string{"wsOutbox", "accOutbox", "orgOutbox", "tagOutbox"}}
	f.Config = Config{
		Config: sibling.Config{
			Log: zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel)), Poll: 200 * time.Millisecond, RetryMin: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond,
		},
		Metrics: NewMetrics(f.Registry), PauseMin: 50 * time.Millisecond, PauseMax: 200 * time.Millisecond, GaugeEvery: 50 * time.Millisecond,
		RampStep: 20 * time.Millisecond, Ask: 10 * time.Millisecond, Follow: 20 * time.Millisecond, FollowMax: 200 * time.Millisecond, Save: 50 * time.Millisecond,
	}
	f.Patience = 5 * time.Minute
	f.Queue = f.NewQueue(f.Store)
	return f
}

// NewQueue makes a queue of another process, as it were.
func (f *Fixture) NewQueue(store dlq.Store) *dlq.Queue {
	f.T.Helper()
	q, err := dlq.New(dlq.Config{Store: store, Catalog: f.Catalog})
	if err != nil {
		f.T.Fatal(err)
	}
	return q
}

// Letter is a dead letter of a record of the outbox, due now if it is SAFE_AUTO.
func (f *Fixture) Letter(outbox, eventType, aggregate string, version int64) *dlq.Item {
	now := time.Now().UTC().Truncate(time.Microsecond)
	i := Letter(f.Catalog, outbox, eventType, aggregate, version, now)
	if i.Tier == contracts.SafeAuto {
		i.NextReplayAt = now
	}
	return i
}

// Bury writes dead letters as the relay does, with their records, and rings.
func (f *Fixture) Bury(items ...*dlq.Item) {
	f.T.Helper()
	for some := range slices.Chunk(items, 50) {
		var writes []dlq.Write
		for n, i := range some {
			outbox, id, _ := strings.Cut(i.RecordPath, "/")
			writes = append(writes, i.Burial(n > 0)...)
			writes = append(writes, dlq.Write{Collection: outbox, ID: id, Op: dlq.OpSet, Fields: Record(i)})
		}
		if _, err := f.Store.Commit(f.T.Context(), writes); err != nil {
			f.T.Fatal(err)
		}
	}
	f.Queue.Ring(dlq.BellReplays)
	f.Queue.Ring(dlq.BellAlerts)
}

// Die buries a new dead letter.
func (f *Fixture) Die(outbox, eventType, aggregate string, version int64) *dlq.Item {
	f.T.Helper()
	i := f.Letter(outbox, eventType, aggregate, version)
	f.Bury(i)
	return i
}

// Item reads a dead letter, which must be there.
func (f *Fixture) Item(id string) *dlq.Item {
	f.T.Helper()
	i, err := f.Queue.Item(f.T.Context(), id)
	if err != nil {
		f.T.Fatal(err)
	}
	return i
}

// Decide takes a decision that must succeed.
func (f *Fixture) Decide(id string, a dlq.Action, by dlq.Actor) {
	f.T.Helper()
	if _, err := f.Queue.Decide(f.T.Context(), id, dlq.Decide{Action: a, Actor: by, Reason: "because"}); err != nil {
		f.T.Fatal(err)
	}
}

// Eventually waits until ok.
func (f *Fixture) Eventually(what string, ok func() bool) {
	f.T.Helper()
	if !poll.True(f.Patience, 10*time.Millisecond, ok) {
		f.T.Fatalf("in vain: %s", what)
	}
}

// Settles waits until a number stays what it is for a while, and returns it.
func (f *Fixture) Settles(what string, number func() int) int {
	f.T.Helper()
	last, since := number(), 0
	f.Eventually(what, func() bool {
		if n := number(); n != last {
			last, since = n, 0
		}
		since++
		return since > 30
	})
	return last
}

// Quiet waits until nobody reads dead letters any more.
func (f *Fixture) Quiet() {
	f.T.Helper()
	var reads atomic.Int64
	remove := f.Server.Faults().Add(localfirestore.Fault{
		Method: "RunQuery", Collection: contracts.CollectionDeadLetters, Match: func(localfirestore.Call) bool { reads.Add(1); return false },
	})
	defer remove()
	f.Settles("nobody looks", func() int { return int(reads.Load()) })
}

// Reaches waits until the item has a state.
func (f *Fixture) Reaches(id string, want contracts.DeadState) *dlq.Item {
	f.T.Helper()
	var i *dlq.Item
	f.Eventually(id+" is "+string(want), func() bool { i = f.Item(id); return i.State == want })
	return i
}

// Counter reads a metric; labels are those of its value, in the order of their names.
func (f *Fixture) Counter(name string, labels ...string) float64 {
	f.T.Helper()
	families, err := f.Registry.Gather()
	if err != nil {
		f.T.Fatal(err)
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
	f.T.Fatalf("no metric %s%v", name, labels)
	return 0
}

// Apart makes n dead letters of as many aggregates, which are due so long from now.
func (f *Fixture) Apart(n int, due time.Duration) (all []*dlq.Item) {
	for range n {
		i := f.Letter("wsOutbox", "TaskDone", "ws", 1)
		i.AggregateID = i.EventID
		i.NextReplayAt = i.NextReplayAt.Add(due)
		all = append(all, i)
	}
	return all
}
