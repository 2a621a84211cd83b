package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

// pass lets virtual time pass: the tests that call it run in a bubble.
func pass(d time.Duration) { time.Sleep(d) }

func newAsk() inbox.Ask {
	return inbox.Ask{
		Ref:         inbox.Ref{Consumer: "c", EventID: uuid.NewString(), Token: uuid.NewString()},
		AggregateID: uuid.NewString(), Version: 1, Lease: time.Minute, Keep: time.Hour,
	}
}

// message is one event on its way to a consumer.
type message struct {
	data       []byte
	attributes map[string]string
	eventID    string
	aggregate  string
	version    int64
}

var defaultCatalog = sync.OnceValues(contracts.DefaultCatalog)

// event makes the message of a sound event, as the relay does.
func event(t testing.TB, aggregate string, version int64) message {
	t.Helper()
	catalog, err := defaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(uint64(version), uint64(len(aggregate))))
	o := catalog.Outbox("skillOutbox")
	rec := catalog.Sample(random, o, aggregate, version, time.Now())
	rec.EventID = uuid.NewString()
	rec.IdempotencyKey = contracts.IdempotencyKey(rec.EventID, aggregate, version)
	data, err := contracts.MarshalEnvelope(rec)
	if err != nil {
		t.Fatal(err)
	}
	m := contracts.NewMessage(rec, data, rec.Lane, "FUNNEL_CRITICAL", "")
	return message{m.Data, m.Attributes, rec.EventID, aggregate, version}
}

// series makes the messages of an aggregate, from version 1 on.
func series(t testing.TB, aggregate string, n int) []message {
	t.Helper()
	var out []message
	for v := range n {
		out = append(out, event(t, aggregate, int64(v+1)))
	}
	return out
}

// broker delivers the messages of an aggregate one after another, as Pub/Sub does with
// ordering: when one is given back, what comes behind it is on its way already,
// and then all of them come again.
type broker struct {
	backoff time.Duration
	wg      sync.WaitGroup
}

// deliver delivers until every message is acknowledged, or ctx ends.
func (b *broker) deliver(ctx context.Context, box *inbox.Inbox, h inbox.Handler, messages ...message) {
	keys := map[string][]message{}
	for _, m := range messages {
		keys[m.aggregate] = append(keys[m.aggregate], m)
	}
	for _, queue := range keys {
		b.wg.Go(func() {
			for len(queue) > 0 && ctx.Err() == nil {
				queue = slices.DeleteFunc(queue, func(m message) bool {
					return box.Deliver(ctx, m.data, m.attributes, h)
				})
				if len(queue) > 0 {
					pass(max(b.backoff, time.Millisecond))
				}
			}
		})
	}
}

func (b *broker) wait() { b.wg.Wait() }

// effects are what handlers did.
type effects struct {
	mu    sync.Mutex
	start time.Time
	calls []call
}

type call struct {
	eventID   string
	aggregate string
	version   int64
	after     time.Duration // since the first call
	attempt   int
}

func (f *effects) add(e *inbox.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.start.IsZero() {
		f.start = time.Now()
	}
	f.calls = append(f.calls, call{e.EventID, e.AggregateID, e.AggregateVersion, time.Since(f.start), e.Attempt})
}

// handler notes each call, and answers by fail; nil: nothing fails.
func (f *effects) handler(fail func(e *inbox.Event) error) inbox.Handler {
	return func(_ context.Context, e *inbox.Event) error {
		f.add(e)
		if fail == nil {
			return nil
		}
		return fail(e)
	}
}

func (f *effects) of(m message) []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.calls), func(c call) bool { return c.eventID != m.eventID })
}

func (f *effects) times(m message) []time.Duration {
	var out []time.Duration
	for _, c := range f.of(m) {
		out = append(out, c.after)
	}
	return out
}

// disorder names what was handled after a later event of its aggregate, and what more
// than once.
func (f *effects) disorder() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	last := map[string]int64{}
	for _, c := range f.calls {
		if c.version <= last[c.aggregate] {
			out = append(out, fmt.Sprintf("%s: %d after %d", c.aggregate, c.version, last[c.aggregate]))
		}
		last[c.aggregate] = c.version
	}
	return out
}

// graveyard keeps dead letters.
type graveyard struct {
	mu      sync.Mutex
	letters []inbox.DeadLetter
	fail    error
}

func (g *graveyard) Bury(_ context.Context, d inbox.DeadLetter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail != nil {
		return g.fail
	}
	g.letters = append(g.letters, d)
	return nil
}

func (g *graveyard) all() []inbox.DeadLetter {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.letters)
}

func quiet(o inbox.Options) inbox.Options {
	o.Log = slog.New(slog.DiscardHandler)
	return o
}

var errBroken = errors.New("it is broken")

func always(*inbox.Event) error { return errBroken }
