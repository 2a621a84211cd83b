package replayer_test

import (
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// What somebody closed by hand keeps its time. It is read like anything else that is due and
// known: once, and again now and then, not with each look.
func TestBillOfALookPastWhatWasClosedByHand(t *testing.T) {
	f := setup(t)
	f.Config.Poll, f.Config.Quiet, f.Config.GaugeEvery = time.Hour, time.Hour, time.Hour
	const closed = 600 // more than a page
	letters := f.Apart(closed, -time.Hour)
	f.Bury(letters...)
	for part := range slices.Chunk(letters, 200) {
		var writes []dlq.Write
		for _, i := range part {
			writes = append(writes, dlq.Write{
				Collection: contracts.CollectionDeadLetters, ID: i.ID, Op: dlq.OpMerge, Fields: map[string]any{contracts.DeadFieldState: string(contracts.DeadDiscarded)},
			})
		}
		if _, err := f.Store.Commit(t.Context(), writes); err != nil {
			t.Fatal(err)
		}
	}
	f.Replayer()
	f.Eventually("it has read all of them", func() bool { return f.deadReads() >= closed })
	f.Quiet()
	const rings, each = 5, 2
	reads := f.deadReads()
	for range rings {
		before := f.deadReads()
		f.Queue.Ring(dlq.BellReplays)
		f.Eventually("it looks", func() bool { return f.deadReads() > before })
		f.Quiet()
	}
	if reads = f.deadReads() - reads; reads > rings*each {
		t.Errorf("%d looks read %d dead letters, want %d at most for each", rings, reads, each)
	}
}
