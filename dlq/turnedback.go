package dlq

import (
	"context"
	"fmt"
	"time"

	"outboxrelay/contracts"
)

// turnedBack is how many records a release has turned back so far, by whichever
// instances. It stands in a document beneath the freeze, which itself is a fence and must
// not change, and is written with what it counts: a release that goes on elsewhere, or
// whose answer was lost, goes on counting there.
type turnedBack struct {
	freeze  *Freeze
	records int64
	updated time.Time // of the document; zero: there is none
}

// Names of that document and its fields.
const (
	turnedBackBelow   = "/release"
	turnedBackID      = "turned-back"
	turnedBackRelease = "release"
	turnedBackRecords = "records"
)

func turnedBackIn(freeze *Freeze) string {
	return contracts.CollectionFrozen + "/" + FreezeID(freeze.AggregateID) + turnedBackBelow
}

// turnedBack reads the count of a release. What an earlier one left that ended in another
// freeze is not counted.
func (q *Queue) turnedBack(ctx context.Context, freeze *Freeze) (turnedBack, error) {
	doc, err := q.get(ctx, turnedBackIn(freeze), turnedBackID)
	if err != nil {
		return turnedBack{}, fmt.Errorf("read how many records were turned back: %w", err)
	}
	t := turnedBack{freeze: freeze, updated: doc.UpdateTime}
	if of, _ := doc.Fields[turnedBackRelease].(string); of == freeze.Release {
		t.records, _ = doc.Fields[turnedBackRecords].(int64)
	}
	return t, nil
}

// plus is the write that counts n more. It fails if another has counted since.
func (t turnedBack) plus(n int) Write {
	w := Write{
		Collection: turnedBackIn(t.freeze), ID: turnedBackID, Op: OpUpdate, IfUnchangedSince: t.updated,
		Fields: map[string]any{turnedBackRelease: t.freeze.Release, turnedBackRecords: t.records + int64(n)},
	}
	if t.updated.IsZero() {
		w.Op = OpCreate
	}
	return w
}

// removal is the write that removes the count, as it was read.
func (t turnedBack) removal() Write {
	return Write{Collection: turnedBackIn(t.freeze), ID: turnedBackID, Op: OpDelete, IfUnchangedSince: t.updated}
}
