package dlq

import (
	"context"
	"fmt"

	"go.uber.org/zap"

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
// pending, those behind after in the order of their IDs, and returns how many. next is
// where the next page begins; "": there is none. A commit holds only for the
// freeze as it was read, so that what a later death had held stays so: see IsRefused.
// With it goes the count of all that the release turned back. A record that has no room
// for another status stands in nobody's way: it is left to the sweep of its outbox, which
// dead-letters such a one once its freeze is gone.
func (q *Queue) TurnBack(ctx context.Context, outbox string, freeze *Freeze, after string) (turned int, next string, err error) {
	held := heldQuery(outbox, freeze.AggregateID)
	held.OrderBy, held.Limit, held.Select = []Order{{Field: FieldID}}, heldPage, []string{contracts.FieldStatus}
	docs, next, err := q.pageByID(ctx, held, after)
	if err != nil || len(docs) == 0 {
		return 0, "", err
	}
	turned, err = q.turnBack(ctx, outbox, freeze, docs)
	return turned, next, err
}

// turnBack turns these back in one commit, or each half of them by itself if Firestore
// takes no such, until only the records are left that it does not take. It returns how many.
func (q *Queue) turnBack(ctx context.Context, outbox string, freeze *Freeze, docs []Doc) (turned int, err error) {
	counted, err := q.turnedBack(ctx, freeze)
	if err != nil {
		return 0, err
	}
	writes := make([]Write, 0, len(docs)+2)
	for _, d := range docs {
		writes = append(writes, Write{
			Collection: outbox, ID: d.ID, Op: OpUpdate, IfUnchangedSince: d.UpdateTime,
			Fields: map[string]any{contracts.FieldStatus: string(contracts.Pending)},
		})
	}
	_, err = q.store.Commit(ctx, append(writes, freeze.Fence(), counted.plus(len(docs))))
	switch {
	case err == nil:
		return len(docs), nil
	case !RefusesDocument(err):
		return 0, err
	case len(docs) == 1:
		q.log.Warn("held record cannot be turned back, left to the sweep of its outbox, which dead-letters it; where nobody relays that, shorten the record and set its status to pending",
			zap.String("outbox", outbox), zap.String("record", docs[0].ID), zap.String("aggregateId", freeze.AggregateID), zap.String("traceId", freeze.TraceID), zap.Error(err))
		return 0, nil
	}
	for _, half := range [][]Doc{docs[:len(docs)/2], docs[len(docs)/2:]} {
		n, err := q.turnBack(ctx, outbox, freeze, half)
		if turned += n; err != nil {
			return turned, err
		}
	}
	return turned, nil
}

// EndRelease deletes the freeze as it was read, with the audit entry of the
// release's end, which tells how many records were turned back, by whichever
// instances, and returns that. It reports false when the aggregate was frozen again, or
// another instance has deleted the freeze.
func (q *Queue) EndRelease(ctx context.Context, freeze *Freeze) (records int64, done bool, err error) {
	id, sent := q.newID(), false
	_, err = q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		doc, err := q.get(ctx, contracts.CollectionFrozen, FreezeID(freeze.AggregateID))
		if err != nil {
			return nil, err
		}
		if !doc.UpdateTime.Equal(freeze.UpdateTime) { // gone, or another one
			done, err = q.ended(ctx, id, sent)
			return nil, err
		}
		counted, err := q.turnedBack(ctx, freeze)
		if err != nil {
			return nil, err
		}
		records, sent, done = counted.records, true, true
		return []Write{
			{Collection: contracts.CollectionFrozen, ID: doc.ID, Op: OpDelete, IfUnchangedSince: doc.UpdateTime},
			counted.removal(), releasedEntry(id, freeze, records).Write(),
		}, nil
	})
	if err != nil {
		return 0, false, fmt.Errorf("end freeze: %w", err)
	}
	q.Ring(BellFreezes)
	return records, done, nil
}

// ended reports whether a commit that was sent, and whose answer was lost or a refusal,
// has ended the release: its audit entry stands.
func (q *Queue) ended(ctx context.Context, id string, sent bool) (bool, error) {
	if !sent {
		return false, nil
	}
	entry, err := q.get(ctx, contracts.CollectionAudit, id)
	return err == nil && entry.Exists(), err
}

// releasedEntry tells of the end of a release.
func releasedEntry(id string, freeze *Freeze, records int64) *Entry {
	return &Entry{
		ID: id, Actor: Service().Name, Action: ActionReleased, Subject: SubjectFreeze, On: freeze.AggregateID,
		From: string(Releasing), Reason: fmt.Sprintf("decided by %s; %d held records turned back", orNobody(freeze.ReleasedBy), records),
		Outbox: freeze.Outbox, EventID: freeze.EventID, EventType: freeze.EventType, TraceID: freeze.TraceID, AggregateID: freeze.AggregateID,
	}
}
