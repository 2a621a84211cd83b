package demo

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"outboxrelay/contracts"
)

// remembered bounds what the ledger keeps of what is over: deliveries to tell
// a repeat by, and the last version of each aggregate at each target.
const remembered = 50_000

// Ledger knows every record that was appended and every message that came of
// it. It is safe for concurrent use, and its memory is bounded by what is still
// to come.
type Ledger struct {
	mu          sync.Mutex
	expected    map[string]*expectation // records on their way, by idempotency key
	seen        *recent[delivery, struct{}]
	lastVersion *recent[stream, Arrival]
	lanes       map[contracts.Lane]*laneBook
	consumers   map[string]*ConsumerTotals // those that the catalog names, by name
	totals      Totals
	changed     time.Time
	handshakes  *handshakeBook // nil: no claims are set
}

// expectation is a record that has not reached all its targets.
type expectation struct {
	lane     contracts.Lane
	targets  []string // still to come, and consumers behind them
	appended bool     // the append is known to have succeeded
}

// delivery identifies one record at one target.
type delivery struct{ target, key string }

// stream is what keeps its order: an aggregate of one outbox and lane at one
// target.
type stream struct {
	target, outbox string
	lane           contracts.Lane
	aggregate      string
}

type laneBook struct {
	in, delivered int64
	all           *hdrhistogram.Histogram         // lag in ms, since the start
	late          *hdrhistogram.WindowedHistogram // of the last minute
	samples       int64
}

// Lags are recorded up to an hour; what is later counts as an hour.
const (
	maxLagMs   = 3_600_000
	lagWindows = 6 // of LagRotation each
)

// LagRotation is how often Rotate is to be called, so that the last minute's
// lags are those of the last minute.
const LagRotation = 10 * time.Second

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	l := &Ledger{
		expected:    map[string]*expectation{},
		seen:        newRecent[delivery, struct{}](remembered),
		lastVersion: newRecent[stream, Arrival](remembered),
		lanes:       map[contracts.Lane]*laneBook{},
		consumers:   map[string]*ConsumerTotals{},
		changed:     time.Now(),
	}
	for _, lane := range contracts.Lanes() {
		l.lanes[lane] = &laneBook{
			all:  hdrhistogram.New(1, maxLagMs, 3),
			late: hdrhistogram.NewWindowed(lagWindows, 1, maxLagMs, 3),
		}
	}
	return l
}

// Expect announces a record before its append, as its messages may be faster
// than the answer to the append. Appended or Forget must follow.
func (l *Ledger) Expect(key string, lane contracts.Lane, targets []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected[key] = &expectation{lane: lane, targets: slices.Clone(targets)}
	l.handshakes.begin(key)
}

// Appended says that the append succeeded.
func (l *Ledger) Appended(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.expected[key]
	if e == nil || e.appended {
		return
	}
	e.appended = true
	l.lanes[e.lane].in++
	l.changed = time.Now()
	l.settle(key, e)
}

// Forget says that the append did not happen.
func (l *Ledger) Forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.expected, key)
}

// settle drops an expectation that has come true.
func (l *Ledger) settle(key string, e *expectation) {
	if e.appended && len(e.targets) == 0 {
		l.lanes[e.lane].delivered++
		delete(l.expected, key)
	}
}

// Arrival is one message as its consumer saw it.
type Arrival struct {
	Target, Outbox string
	Lane           contracts.Lane
	Aggregate      string
	Version        int64
	Key            string // idempotency key
	Message        string // its ID, which brokers count up as they accept messages; "" of a handler
	Replay         bool   // of a dead letter, so that it may come after later versions
}

// Arrive books a message: as a first delivery, a repeat, or one out of order.
func (l *Ledger) Arrive(a Arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = time.Now()
	l.totals.Messages++

	once := delivery{a.Target, a.Key}
	if _, ok := l.seen.get(once); ok {
		l.totals.Duplicates++
		return
	}
	l.seen.set(once, struct{}{})

	if !l.reach(a.Key, a.Target) {
		l.totals.Foreign++
	}

	if a.Replay { // the order is that of the records that never died
		l.totals.Replayed++
		return
	}
	in := stream{a.Target, a.Outbox, a.Lane, a.Aggregate}
	if last, ok := l.lastVersion.get(in); ok && a.Version < last.Version {
		if l.totals.OutOfOrder++; l.totals.FirstOutOfOrder == "" {
			l.totals.FirstOutOfOrder = fmt.Sprintf("%s: %s, version %d (message %s) after %d (message %s)", a.Target, a.Key, a.Version, a.Message, last.Version, last.Message)
		}
		return
	}
	l.lastVersion.set(in, a)
}

// reach takes a target, or a consumer, off those that a record is still to reach. It
// reports false for a record that is not expected.
func (l *Ledger) reach(key, target string) bool {
	e := l.expected[key]
	if e == nil {
		return false
	}
	e.targets = slices.DeleteFunc(e.targets, func(t string) bool { return t == target })
	l.changed = time.Now()
	l.settle(key, e)
	return true
}

// Lag books how long after its append a record was acknowledged by a target.
func (l *Ledger) Lag(lane contracts.Lane, lag time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	book := l.lanes[lane]
	if book == nil {
		return // a lane of a newer relay
	}
	ms := min(max(lag.Milliseconds(), 0), maxLagMs)
	_ = book.all.RecordValue(ms) // within the bounds that it was made with
	_ = book.late.Current.RecordValue(ms)
	book.samples++
}

// Rotate lets the oldest of the last minute's lags go.
func (l *Ledger) Rotate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, book := range l.lanes {
		book.late.Rotate()
	}
}

// Totals is the ledger at one moment.
type Totals struct {
	Lanes      []LaneTotals // most urgent first
	Messages   int64        // all that arrived
	Duplicates int64        // of these, repeats of one that the same target had
	OutOfOrder int64        // of these, after a later version of their aggregate
	// FirstOutOfOrder tells of the first of these; "" while there is none.
	FirstOutOfOrder string
	Replayed        int64            // of these, first deliveries of dead letters
	Foreign         int64            // of these, of records that are none of this ledger's
	Samples         int64            // lags booked
	Changed         time.Time        // when something was last appended or arrived
	Handshakes      *Handshakes      // nil: no claims are set
	Consumers       []ConsumerTotals // those that the catalog names and that were told of something, by name
}

// LaneTotals is one lane of the ledger. Its lags are zero before any is known.
type LaneTotals struct {
	Lane          contracts.Lane
	In, Delivered int64 // records appended, and records that reached all their targets
	P50, P99      time.Duration
	LateP50       time.Duration // of the last minute
	LateP99       time.Duration
}

// Pending is how many records have not reached all their targets.
func (t LaneTotals) Pending() int64 { return t.In - t.Delivered }

// Sum adds up the lanes' records.
func (t Totals) Sum() (in, delivered int64) {
	for _, lane := range t.Lanes {
		in += lane.In
		delivered += lane.Delivered
	}
	return in, delivered
}

// Totals returns the ledger as it stands.
func (l *Ledger) Totals() Totals {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.totals
	t.Changed = l.changed
	t.Handshakes = l.handshakes.totals()
	for _, name := range slices.Sorted(maps.Keys(l.consumers)) {
		t.Consumers = append(t.Consumers, *l.consumers[name])
	}
	for _, lane := range contracts.Lanes() {
		book := l.lanes[lane]
		late := book.late.Merge()
		t.Samples += book.samples
		t.Lanes = append(t.Lanes, LaneTotals{
			Lane: lane, In: book.in, Delivered: book.delivered,
			P50: quantile(book.all, 50), P99: quantile(book.all, 99),
			LateP50: quantile(late, 50), LateP99: quantile(late, 99),
		})
	}
	return t
}

// Missing lists up to limit records that have not reached all their targets,
// by idempotency key, with the targets that lack them.
func (l *Ledger) Missing(limit int) map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(l.expected)) {
		if len(out) == limit {
			break
		}
		out[key] = slices.Clone(l.expected[key].targets)
	}
	return out
}

func quantile(h *hdrhistogram.Histogram, q float64) time.Duration {
	return time.Duration(h.ValueAtQuantile(q)) * time.Millisecond
}
