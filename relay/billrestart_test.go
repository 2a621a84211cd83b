package relay_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
)

// A relay that is stopped amid a backlog has read no more of it than it delivered
// and its memory holds, however often.
func TestBillOfRestartsAmidABacklog(t *testing.T) {
	thorough.Long(t)
	f := billed(t)
	const inFlight, page, restarts = 50, 25, 3
	f.shrink(narrowWindow, inFlight)
	f.tuning.PageSize = page
	n := thorough.Backlog(t)
	doors := &doors{}
	f.script(func(context.Context, string, *contracts.Record) error { doors.pass(); return nil })
	f.backlog(f.tasks(n, 40))
	left := n
	for k := range restarts + 1 {
		opened := doors.let(n / (restarts + 1))
		if k == restarts {
			opened() // to all
		}
		delivered := 0
		bill := f.bill("wsOutbox", func() {
			r := f.run()
			if k == restarts {
				r.settled(left)
				r.alive()
			} else {
				f.eventually("a part is delivered, and what is to come waits", doors.crowded)
			}
			stopped := make(chan struct{})
			go func() { defer close(stopped); r.stop() }()
			f.eventually("the relay stops", func() bool { return r.relay.Health().Stopping })
			opened()
			<-stopped
			delivered = r.delivered()
		})
		left -= delivered
		bound := plus(times(localfirestore.Operations{Reads: 1, Writes: 1}, delivered), f.startOf("wsOutbox"))
		bound.Reads += inFlight + page + oldCommit
		bound.Deletes = bound.Writes - int64(delivered) // canaries
		atMost(t, fmt.Sprintf("run %d, which delivered %d records", k+1, delivered), bill, bound)
	}
	if left != 0 {
		t.Errorf("%d records more were delivered than there were", -left)
	}
}

// A restart while a backlog waits for a target that is out reads each of its
// records once at most, and nothing more of it until the target answers, but for the
// few that are brought to probe beside one that has probed in vain for long.
func TestBillOfRestartsBeforeATargetThatIsOut(t *testing.T) {
	thorough.Long(t)
	f := billed(t)
	const inFlight, page = 50, 25
	f.shrink(narrowWindow, inFlight)
	f.tuning.PageSize = page
	n := thorough.Backlog(t)
	var mended atomic.Bool
	var failures atomic.Int64
	f.script(func(context.Context, string, *contracts.Record) error {
		if mended.Load() {
			return nil
		}
		failures.Add(1)
		return failure(contracts.Outage, "Unavailable")
	})
	f.backlog(f.tasks(n, 40))
	for k := range 2 {
		bill := f.bill("wsOutbox", func() {
			r := f.run()
			f.eventually("the target is out", func() bool { return f.breakerOpen(r, "FUNNEL") })
			f.idleWhile("wsOutbox", &failures)
			r.stop()
		})
		bound := plus(times(localfirestore.Operations{Reads: 1}, n), f.startOf("wsOutbox"))
		bound.Deletes = bound.Writes
		bound.Reads += probesRead + int64(n/page) // and a look behind each page, as a mark of the run before may come
		atMost(t, fmt.Sprintf("run %d", k+1), bill, bound)
	}
	mended.Store(true)
	f.run().settled(n)
}

// probesRead is how many records are read to probe a target beside another: those of
// three aggregates, in pages of four; and once more, as the wait on a slow machine is
// long. It is less than a page of the backlog.
const probesRead = 2 * 12

// idleWhile waits until nothing of an outbox is read while a target is tried ten
// times.
func (f *fixture) idleWhile(outbox string, tries *atomic.Int64) {
	f.t.Helper()
	reads, since := int64(-1), int64(0)
	f.eventually("nothing more is read", func() bool {
		if now := f.cloud.embedded.Billing().Collections[outbox].Reads; now != reads {
			reads, since = now, tries.Load()
		}
		return tries.Load() >= since+10
	})
}

// tasks makes n records of one lane and one target, FUNNEL, over some aggregates.
func (f *fixture) tasks(n, aggregates int) (all []*contracts.Record) {
	f.t.Helper()
	for i := range n {
		all = append(all, f.record("wsOutbox", "TaskCompleted", fmt.Sprint("workspace-", i%aggregates), int64(i/aggregates)+1))
	}
	return all
}

// doors let so many deliveries through, and have others wait.
type doors struct {
	mu      sync.Mutex
	room    int
	waiting int
	open    chan struct{}
}

// let closes the doors behind the next n, and returns what opens them to all.
func (d *doors) let(n int) (opened func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	open := make(chan struct{})
	d.room, d.waiting, d.open = n, 0, open
	return sync.OnceFunc(func() { close(open) })
}

func (d *doors) pass() {
	d.mu.Lock()
	d.room--
	wait, open := d.room < 0, d.open
	if wait {
		d.waiting++
	}
	d.mu.Unlock()
	if wait {
		<-open
	}
}

// crowded reports whether somebody waits.
func (d *doors) crowded() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting > 0
}
