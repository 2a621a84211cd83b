package relay_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
)

// A first attempt that fails costs a write, and one more message to the target that
// failed: the record leaves the listener's window with that, and its retry is made
// out of memory. One that is deleted at last had left for nothing; now it leaves
// changed, which is a read. A record out of a page leaves no window.
func TestBillOfARetry(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for _, c := range []struct {
		name   string
		on     contracts.OnDelivered
		paged  bool
		record localfirestore.Operations
	}{
		{"caught up, marked", contracts.MarkDelivered, false, localfirestore.Operations{Reads: 2, Writes: 2}},
		{"caught up, deleted", contracts.DeleteDelivered, false, localfirestore.Operations{Reads: 2, Writes: 1, Deletes: 1}},
		{"paged, marked", contracts.MarkDelivered, true, localfirestore.Operations{Reads: 1, Writes: 2}},
		{"paged, deleted", contracts.DeleteDelivered, true, localfirestore.Operations{Reads: 1, Writes: 1, Deletes: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := billed(t)
			f.catalog.Outbox("wsOutbox").OnDelivered = c.on
			n := 200
			if c.paged {
				n = thorough.Backlog(t)
			}
			messages := f.failOnce()
			records := f.tasks(n, n) // each of an aggregate of its own
			first := 0
			var r *running
			if c.paged {
				f.shrink(narrowWindow, 1000)
				f.backlog(records)
			} else {
				r = f.run()
				first = r.listens()
			}
			sent := messages()
			bill := f.bill("wsOutbox", func() {
				if c.paged {
					// With leases, which tell that nobody had the outbox: else what is in backoff is
					// looked at with each page, as a mark of an owner before may come.
					r = f.member("only", time.Hour, nil).running
				} else {
					f.append(records, 25)
				}
				r.settled(first + n)
				if c.paged {
					r.alive()
				}
			})
			bound := times(c.record, n)
			if c.paged {
				bound = plus(bound, f.startOf("wsOutbox"))
			} else {
				bill.Writes -= int64(n)         // the producer's
				bound.Reads += int64(2 * first) // still on their way
			}
			atMost(t, "records that fail once", bill, bound)
			if got := messages() - sent; got != 2*n {
				t.Errorf("%d messages were sent of %d records, want 2 of each", got, n)
			}
		})
	}
}

// failOnce has each record fail at its first attempt, and returns what counts the
// attempts so far.
func (f *fixture) failOnce() (attempts func() int) {
	f.t.Helper()
	var mu sync.Mutex
	tried, all := make(map[string]bool), 0
	f.script(func(_ context.Context, target string, r *contracts.Record) error {
		mu.Lock()
		defer mu.Unlock()
		all++
		if key := fmt.Sprint(target, " ", r.ID); !tried[key] {
			tried[key] = true
			return own()
		}
		return nil
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}
