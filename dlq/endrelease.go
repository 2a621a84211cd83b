package dlq

import (
	"context"
	"fmt"

	"outboxrelay/contracts"
)

const (
	// releasePage is how many freezes are looked at together.
	releasePage = 100
	// heldPage is how many held records go into one commit.
	heldPage = 200
)

// decidedReleases finds the freezes whose release was decided.
var decidedReleases = Query{
	Collection: contracts.CollectionFrozen, Where: []Where{{FreezeFieldState, "==", string(Releasing)}},
	OrderBy: []Order{{Field: FieldID}}, Limit: releasePage,
}

// Releases reads a page of the freezes whose release was decided and is not done,
// in the order of their IDs: those behind after, or the first of all where that is
// empty. next is where the next page begins; "": there is none.
func (q *Queue) Releases(ctx context.Context, after string) (page []*Freeze, next string, err error) {
	docs, next, err := q.pageByID(ctx, decidedReleases, after)
	if err != nil {
		return nil, "", fmt.Errorf("find releases: %w", err)
	}
	return decodeFreezes(docs), next, nil
}

// TurnBack turns a page of the records of one outbox that a freeze holds back to
// pending, and returns how many; 0: none is left. The commit holds only for the
// freeze as it was read, so that what a later death had held stays so: see IsRefused.
// With it goes the count of all that the release turned back. A record that has no room
// for another status stands in nobody's way: it is left to the sweep of its outbox, which
// dead-letters such a one once its freeze is gone.
func (q *Queue) TurnBack(ctx context.Context, outbox string, freeze *Freeze) (turned int, err error) {
	held := heldQuery(outbox, freeze.AggregateID)
	held.Limit, held.Select = heldPage, []string{contracts.FieldStatus}
	docs, err := q.store.Query(ctx, held)
	if err != nil || len(docs) == 0 {
		return 0, err
	}
	if err := q.turnBack(ctx, outbox, freeze, docs); !RefusesDocument(err) {
		return len(docs), err
	}
	for _, d := range docs {
		switch err := q.turnBack(ctx, outbox, freeze, []Doc{d}); {
		case err == nil:
			turned++
		case !RefusesDocument(err):
			return turned, err
		}
	}
	return turned, nil
}

// turnBack turns these back in one commit.
func (q *Queue) turnBack(ctx context.Context, outbox string, freeze *Freeze, docs []Doc) error {
	counted, err := q.turnedBack(ctx, freeze)
	if err != nil {
		return err
	}
	writes := make([]Write, 0, len(docs)+2)
	for _, d := range docs {
		writes = append(writes, Write{
			Collection: outbox, ID: d.ID, Op: OpUpdate, IfUnchangedSince: d.UpdateTime,
			Fields: map[string]any{contracts.FieldStatus: string(contracts.Pending)},
		})
	}
	_, err = q.store.Commit(ctx, append(writes, freeze.Fence(), counted.plus(len(docs))))
	return err
}

// EndRelease deletes the freeze as it was read, with the audit entry of the
// release's end, which tells how many records were turned back, by whichever
// instances, and returns that. It reports false when the aggregate was frozen again.
func (q *Queue) EndRelease(ctx context.Context, freeze *Freeze) (records int64, done bool, err error) {
	again := false
	_, err = q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		doc, err := q.get(ctx, contracts.CollectionFrozen, FreezeID(freeze.AggregateID))
		if err != nil || !doc.Exists() { // gone: by a commit whose answer was lost, or by another instance
			return nil, err
		}
		if again = !doc.UpdateTime.Equal(freeze.UpdateTime); again {
			return nil, nil
		}
		counted, err := q.turnedBack(ctx, freeze)
		if err != nil {
			return nil, err
		}
		records = counted.records
		return []Write{
			{Collection: contracts.CollectionFrozen, ID: doc.ID, Op: OpDelete, IfUnchangedSince: doc.UpdateTime},
			counted.removal(), releasedEntry(freeze, records).Write(),
		}, nil
	})
	if err != nil {
		return 0, false, fmt.Errorf("end freeze: %w", err)
	}
	if !again {
		q.Ring(BellFreezes)
	}
	return records, !again, nil
}

func releasedEntry(freeze *Freeze, records int64) *Entry {
	return &Entry{
		ID: "released-" + freeze.Release, Actor: Service().Name, Action: ActionReleased, Subject: SubjectFreeze, On: freeze.AggregateID,
		From: string(Releasing), Reason: fmt.Sprintf("decided by %s; %d held records turned back", orNobody(freeze.ReleasedBy), records),
		Outbox: freeze.Outbox, EventID: freeze.EventID, EventType: freeze.EventType, TraceID: freeze.TraceID, AggregateID: freeze.AggregateID,
	}
}
