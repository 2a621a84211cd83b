package relay

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/feed"
)

// oneFreeze is a dlq.Store in which one aggregate is frozen.
type oneFreeze struct {
	dlq.Store
	aggregateID string
	reads       *atomic.Int64 // nil: nobody counts
}

func (s oneFreeze) Query(context.Context, dlq.Query) ([]dlq.Doc, error) {
	if s.reads != nil {
		s.reads.Add(1)
	}
	fields := map[string]any{contracts.FieldAggregateID: s.aggregateID, dlq.FreezeFieldState: string(dlq.Frozen)}
	return []dlq.Doc{{ID: dlq.FreezeID(s.aggregateID), UpdateTime: at(1000), Fields: fields}}, nil
}

// The owner before may have frozen an aggregate in its last moment, of which no watch
// has told yet.
func TestAnOutboxIsTakenUpOnceItsFreezesAreKnown(t *testing.T) {
	r, catalog := newTestRelay(t)
	queue, err := dlq.New(dlq.Config{Store: oneFreeze{aggregateID: "x"}, Catalog: catalog})
	if err != nil {
		t.Fatal(err)
	}
	r.shared, r.queue, r.freezes.queue = true, queue, queue
	o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, always{})
	if !r.takeUp(t.Context(), o) {
		t.Fatal("it is not taken up")
	}
	if got := o.ledger.standing("x"); got != feed.Frozen {
		t.Errorf("the aggregate is %v, want it frozen before anything is read", got)
	}
}

// What is frozen is read again for an outbox in which the owner before may have frozen
// something since it was read last.
func TestFreezesAreReadAgainWhereTheOwnerBeforeMayHaveFrozen(t *testing.T) {
	within := Tuning{}.withDefaults().CommitTimeout
	for name, test := range map[string]struct {
		idle, ago time.Duration // nobody owned it, and what is frozen was read
		want      int64
	}{
		"nobody ever had it":                      {math.MaxInt64, time.Hour, 0},
		"its owner cannot write any more":         {within, 0, 0},
		"nor could it before they were read":      {within + time.Minute, time.Minute, 0},
		"its owner may write":                     {within - 1, 0, 1},
		"handed over":                             {0, 0, 1},
		"its owner could when they were read":     {within + time.Minute - 1, time.Minute, 1},
		"it had an owner since they were read":    {time.Minute, time.Hour, 1},
		"the owner of another share, a day later": {time.Hour, 24 * time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, catalog := newTestRelay(t)
			var reads atomic.Int64
			queue, err := dlq.New(dlq.Config{Store: oneFreeze{aggregateID: "x", reads: &reads}, Catalog: catalog})
			if err != nil {
				t.Fatal(err)
			}
			r.shared, r.queue, r.freezes.queue = true, queue, queue
			now := time.Now()
			r.now = func() time.Time { return now.Add(-test.ago) }
			r.followFreezes().load(t.Context())
			r.now = func() time.Time { return now }
			before := reads.Load()
			o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, idle{since: test.idle})
			if !r.takeUp(t.Context(), o) {
				t.Fatal("it is not taken up")
			}
			if n := reads.Load() - before; n != test.want {
				t.Errorf("%d reads, want %d", n, test.want)
			}
			if got := o.ledger.standing("x"); got != feed.Frozen {
				t.Errorf("the aggregate is %v, want it frozen before anything is read", got)
			}
		})
	}
}

// The next owner must not deliver a record to the targets that have it.
func TestWhatIsGivenBackTellsWhoHasIt(t *testing.T) {
	for name, unsaved := range map[string]bool{"one target has it, which is not written": true, "all is written": false} {
		t.Run(name, func(t *testing.T) {
			r, _ := newTestRelay(t)
			e := testEntry(t, r, 0)
			e.unsaved = unsaved
			if err := r.pools[e.lane].Submit(&e.task); err != nil {
				t.Fatal(err)
			}
			if n := r.giveBack(e.outbox); n != 1 {
				t.Fatalf("%d records are given back, want 1", n)
			}
			queue, left := r.settlers[e.lane].queue, e.outbox.ledger.size() == 0
			if written := len(queue) == 1 && queue[0].kind == settleProgress; written != unsaved || left == unsaved {
				t.Errorf("%d settlements, left memory %t; want its progress to be written first: %t", len(queue), left, unsaved)
			}
		})
	}
}
