package relay_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
)

// A target that takes a few records and goes out again, over and over, costs what
// these cost, and a page for each time: not its backlog, however long that is.
func TestBillOfATargetThatFlaps(t *testing.T) {
	thorough.Long(t)
	f := billed(t)
	const page, flaps, each = 25, 5, 20
	f.shrink(narrowWindow, page)
	f.tuning.PageSize = page
	n := thorough.Backlog(t)
	var takes, failures atomic.Int64 // takes: how many more
	f.script(func(context.Context, string, *contracts.Record) error {
		if takes.Add(-1) >= 0 {
			return nil
		}
		failures.Add(1)
		return failure(contracts.Outage, "Unavailable")
	})
	f.backlog(f.tasks(n, n)) // each of an aggregate of its own
	r := f.run()
	f.eventually("the target is out", func() bool { return f.breakerOpen(r, "FUNNEL") })
	r.alive() // all of it was read: a page may take longer than ten tries
	f.idleWhile("wsOutbox", &failures)

	delivered := r.delivered()
	bill := f.bill("wsOutbox", func() {
		for k := range flaps {
			takes.Store(each)
			f.eventually(fmt.Sprint("it is out again after ", k+1, " flaps"), func() bool {
				return r.delivered() >= delivered+(k+1)*each && f.breakerOpen(r, "FUNNEL")
			})
			f.idleWhile("wsOutbox", &failures)
		}
	})
	delivered = r.delivered() - delivered
	probe := localfirestore.Operations{Reads: page + oldCommit + 2, Writes: 1} // a page, and a listener's canary
	bound := plus(times(localfirestore.Operations{Reads: 2, Writes: 1}, delivered), times(probe, flaps))
	atMost(t, fmt.Sprintf("%d flaps, in which %d records were delivered", flaps, delivered), bill, bound)
	takes.Store(int64(10 * n))
	r.settled(n)
}
