package relay_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
)

// A restart without leases, while records are in backoff: each of them is read once with
// each page, as a mark of the run before may come, for as long as it may. A start with
// nothing else to read needs a page or two for each lane, and a backlog those that it fills.
func TestBillOfARestartWithRecordsInBackoff(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for _, backlog := range []int{0, 500} {
		t.Run(fmt.Sprint("before a backlog of ", backlog), func(t *testing.T) {
			f := billed(t)
			const page, waiting = 25, 30 // each of an aggregate of its own
			f.shrink(narrowWindow, 1000)
			f.tuning.PageSize = page
			f.tuning.CommitTimeout = 2 * usualPatience // a mark may come for as long as the test takes
			f.retries(3, 10_000*time.Hour)             // the wait is drawn from it: for each more than a test takes
			f.script(func(_ context.Context, _ string, r *contracts.Record) error {
				if strings.HasPrefix(r.AggregateID, "workspace-") {
					return own()
				}
				return nil
			})
			r := f.run()
			records := f.tasks(waiting, waiting)
			f.append(records, waiting)
			f.eventually("they are in backoff", func() bool { return f.unmarked(records, contracts.Retrying) == 0 })
			r.stop()
			f.backlog(f.series("wsOutbox", "TaskCompleted", "backlog", 1, int64(backlog)))

			var pages int64
			bill := f.bill("wsOutbox", func() {
				r = f.run()
				f.eventually("the backlog is delivered and settled", func() bool { return r.delivered() >= backlog && r.inMemory() <= waiting })
				r.alive()
				pages = int64(r.metric("relay_pages_total", "outbox", "wsOutbox"))
			})
			if backlog == 0 {
				pages = 2 * int64(len(f.catalog.Outbox("wsOutbox").Lanes()))
			}
			bound := plus(times(localfirestore.Operations{Reads: 1, Writes: 1}, backlog), f.startOf("wsOutbox"))
			bound.Reads += pages * waiting
			atMost(t, "a restart", bill, bound)
		})
	}
}
