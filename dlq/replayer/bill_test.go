package replayer_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// dueLooks is a Store that counts looks at what is due.
type dueLooks struct {
	dlq.Store
	begun atomic.Int64
}

func (d *dueLooks) Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
	if slices.ContainsFunc(q.Where, func(w dlq.Where) bool { return w.Field == contracts.DeadFieldNextReplayAt }) {
		d.begun.Add(1)
	}
	return d.Store.Query(ctx, q)
}

// A look at what is due costs a read for each of its two queries, of what comes next
// and of what somebody asked for, however many dead letters wait for their time. It comes when it is rung for
// alone, so that no time is in the bill.
func TestBillOfALookWhileNothingIsDue(t *testing.T) {
	t.Parallel()
	for _, waiting := range []int{0, 300} {
		t.Run(fmt.Sprint(waiting, " wait for their time"), func(t *testing.T) {
			f := setup(t)
			store := &dueLooks{Store: f.Store}
			f.Queue = f.NewQueue(store)
			f.Config.Poll, f.Config.Quiet, f.Config.GaugeEvery = time.Hour, time.Hour, time.Hour
			f.Bury(f.Apart(waiting, time.Hour)...)
			f.Replayer()
			f.Eventually("it has looked, and its listener has told", func() bool {
				return store.begun.Load() > 0 && f.deadReads() >= int64(2+max(min(waiting, 20), 1))
			})
			f.Quiet()
			const rings, each = 10, 2
			reads := f.deadReads()
			for range rings {
				looks := store.begun.Load()
				f.Queue.Ring(dlq.BellReplays)
				f.Eventually("it looks", func() bool { return store.begun.Load() > looks })
				f.Quiet()
			}
			reads = f.deadReads() - reads
			t.Logf("%d looks: billed %d reads; at most %d", rings, reads, rings*each)
			if reads > rings*each {
				t.Errorf("%d looks read %d dead letters, want %d at most for each", rings, reads, each)
			}
		})
	}
}

// deadReads is how many reads of dead letters were billed.
func (f *fixture) deadReads() int64 {
	return f.Server.Billing().Collections[contracts.CollectionDeadLetters].Reads
}
