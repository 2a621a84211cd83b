package relay

import (
	"context"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/feed"
)

// oneFreeze is a dlq.Store in which one aggregate is frozen.
type oneFreeze struct {
	dlq.Store
	aggregateID string
}

func (s oneFreeze) Query(context.Context, dlq.Query) ([]dlq.Doc, error) {
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
