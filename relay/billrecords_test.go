package relay_test

import (
	"context"
	"sync/atomic"
	"testing"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
)

// Records that a listener tells of cost two reads: as they come into its window,
// and as they leave it marked; one that is deleted leaves for nothing.
func TestBillOfRecordsThatAListenerTells(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		on     contracts.OnDelivered
		record localfirestore.Operations
	}{
		{contracts.MarkDelivered, localfirestore.Operations{Reads: 2, Writes: 1}},
		{contracts.DeleteDelivered, localfirestore.Operations{Reads: 1, Deletes: 1}},
	} {
		t.Run(string(c.on), func(t *testing.T) {
			f := billed(t)
			f.catalog.Outbox("wsOutbox").OnDelivered = c.on
			const n, perCommit = 300, 25 // fewer than make a listener begin elsewhere
			records := f.records("wsOutbox", n, 20)
			sent := f.countMessages()
			r := f.run()
			first := r.listens()
			bill := f.bill("wsOutbox", func() {
				f.append(records, perCommit)
				r.settled(first + n)
			})
			bill.Writes -= n // the producer's
			bound := times(c.record, n)
			bound.Reads += int64(2 * first) // still on their way
			atMost(t, "records", bill, bound)
			if got, want := sent(), first+n; got != want {
				t.Errorf("%d messages were sent of %d records with a target each", got, want)
			}
		})
	}
}

// A backlog is paged, which costs one read for each record.
func TestBillOfABacklog(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for _, c := range []struct {
		on     contracts.OnDelivered
		record localfirestore.Operations
	}{
		{contracts.MarkDelivered, localfirestore.Operations{Reads: 1, Writes: 1}},
		{contracts.DeleteDelivered, localfirestore.Operations{Reads: 1, Deletes: 1}},
	} {
		t.Run(string(c.on), func(t *testing.T) {
			f := billed(t)
			n := thorough.Backlog(t)
			f.catalog.Outbox("wsOutbox").OnDelivered = c.on
			f.shrink(narrowWindow, 1000)
			f.backlog(f.records("wsOutbox", n, 40))
			sent := f.countMessages()
			bill := f.bill("wsOutbox", func() {
				r := f.run()
				r.settled(n)
				r.alive()
			})
			atMost(t, "backlog", bill, plus(times(c.record, n), f.startOf("wsOutbox")))
			if got := sent(); got != n {
				t.Errorf("%d messages were sent of %d records with a target each", got, n)
			}
		})
	}
}

// countMessages returns what counts the messages to targets so far.
func (f *fixture) countMessages() func() int {
	var n atomic.Int64
	f.script(func(context.Context, string, *contracts.Record) error { n.Add(1); return nil })
	return func() int { return int(n.Load()) }
}
