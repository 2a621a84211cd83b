package relay_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
)

// What a sweep of wsOutbox, of two lanes, reads while there is nothing to find. The
// canaries are what the pages find.
const (
	// Counts of all that is pending, of what is in backoff, held or of an odd status,
	// and two counts of all documents.
	idleSweep = 4
	// For each lane a page and a count, counts of all that is pending and of what has
	// no lane, in place of the one.
	pendingSweep = idleSweep - 1 + 6
	// Counts of what is in backoff and of what is held, and a query for odd statuses.
	unsettledSweep = pendingSweep + 3
)

// A sweep of an outbox in which nothing is pending.
func TestBillOfASweepOfAnIdleOutbox(t *testing.T) {
	f := billed(t)
	s := f.sweeps("wsOutbox")
	r := f.run()
	r.alive()
	const n = 20
	atMost(t, "sweeps", s.bill(n), times(localfirestore.Operations{Reads: idleSweep}, n))
}

// A sweep while records wait for a target that is out: it reads the oldest of
// them, a thousand at most, and the next one those behind.
func TestBillOfASweepOverABacklog(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for _, c := range []struct{ waiting, read int64 }{{300, 300}, {1200, 700}} {
		t.Run(fmt.Sprint(c.waiting, " records"), func(t *testing.T) {
			f := billed(t)
			f.shrink(narrowWindow, 50)
			var failures atomic.Int64
			f.script(func(context.Context, string, *contracts.Record) error {
				failures.Add(1)
				return failure(contracts.Outage, "Unavailable")
			})
			f.backlog(f.tasks(int(c.waiting), 40))
			s := f.sweeps("wsOutbox")
			r := f.run()
			f.eventually("the target is out", func() bool { return f.breakerOpen(r, "FUNNEL") })
			r.alive() // a backlog that stands still keeps no listener closed
			f.idleWhile("wsOutbox", &failures)
			const n = 10
			counted := 5 * (c.waiting / 1000) // by each of five counts: one more read for each thousand
			atMost(t, "sweeps", s.bill(n), times(localfirestore.Operations{Reads: pendingSweep + c.read + counted}, n))
		})
	}
}

// A sweep while records are in backoff: it reads each of them.
func TestBillOfASweepOverRecordsInBackoff(t *testing.T) {
	thorough.Long(t)
	f := billed(t)
	f.retries(3, 10_000*time.Hour) // the wait is drawn from it: for each more than a test takes
	f.script(func(context.Context, string, *contracts.Record) error {
		return own()
	})
	const waiting = 30 // each of an aggregate of its own
	s := f.sweeps("wsOutbox")
	r := f.run()
	r.alive()
	records := f.tasks(waiting, waiting)
	f.append(records, waiting)
	f.eventually("they are in backoff", func() bool { return f.unmarked(records, contracts.Retrying) == 0 })
	const n = 20
	bound := times(localfirestore.Operations{Reads: unsettledSweep + waiting}, n)
	bound.Reads += waiting // which the listener may be told of only now that they left
	atMost(t, "sweeps", s.bill(n), bound)
}

// sweeps are those of one outbox. Each waits on its way until the test lets it on,
// so that it is known how many were billed.
type sweeps struct {
	f      *fixture
	outbox string
	there  atomic.Int64 // how often one came to that place
	on     chan struct{}
}

// sweeps has the relay that is run next sweep an outbox when bill says so.
func (f *fixture) sweeps(outbox string) *sweeps {
	s := &sweeps{f: f, outbox: outbox, on: make(chan struct{})}
	f.tuning.SweepInterval = 20 * time.Millisecond
	f.tuning.CommitTimeout = 2 * usualPatience // of a read, too
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, count: func(ctx context.Context, scans ...relay.Scan) ([]int64, error) {
			if scans[0].Outbox == outbox && scans[0].Kind == relay.ScanUnsettled { // once a sweep
				s.there.Add(1)
				select {
				case <-s.on:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return store.Count(ctx, scans...)
		}}
	}
	return s
}

// bill is what n sweeps cost, from that place to the same.
func (s *sweeps) bill(n int) localfirestore.Operations {
	s.f.t.Helper()
	s.f.eventually("a sweep is on its way", func() bool { return s.there.Load() > 0 })
	began := s.there.Load()
	return s.f.bill(s.outbox, func() {
		for range n {
			s.f.eventually("it goes on", func() bool {
				select {
				case s.on <- struct{}{}:
					return true
				default:
					return false
				}
			})
		}
		s.f.eventually("another has come as far", func() bool { return s.there.Load() == began+int64(n) })
	})
}
