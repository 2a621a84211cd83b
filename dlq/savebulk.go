package dlq

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"outboxrelay/contracts"
)

// BulkEnd is how a bulk replay ends by itself.
type BulkEnd struct {
	State  BulkState // BulkDone or BulkStopped
	Reason string    // in words
}

// action is the end's in the audit.
func (e *BulkEnd) action() string {
	if e.State == BulkDone {
		return actionFinish
	}
	return actionStop
}

// unsettledPage is how many bulk replays Unsettled reads at once, and
// WatchUnsettled shows.
const unsettledPage = 40

// unsettled finds the bulk replays that are not through.
var unsettled = Query{
	Collection: contracts.CollectionReplays, Where: []Where{{bulkSettled, "==", false}}, OrderBy: []Order{{Field: FieldID}}, Limit: unsettledPage,
}

// Unsettled reads the bulk replays that are not through, the oldest first: those
// that run, and those that ended and of which something is under way yet.
func (q *Queue) Unsettled(ctx context.Context) ([]*Bulk, error) {
	var all []*Bulk
	for after := ""; ; {
		docs, next, err := q.pageByID(ctx, unsettled, after)
		if err != nil {
			return nil, fmt.Errorf("find bulk replays: %w", err)
		}
		all = append(all, decodeBulks(docs)...)
		if after = next; after == "" {
			return all, nil
		}
	}
}

// SaveBulk writes how far b has got: its phase and its numbers, and its end unless
// that is nil. It returns the bulk replay as it stands then, which somebody may have
// cancelled meanwhile: that end it keeps. settled tells that it is through: it
// ended, and nothing of it is under way. One that is gone is refused as NotFound.
func (q *Queue) SaveBulk(ctx context.Context, b *Bulk, end *BulkEnd) (after *Bulk, settled bool, err error) {
	at, err := q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		doc, err := q.get(ctx, contracts.CollectionReplays, b.ID)
		if err != nil {
			return nil, err
		}
		if !doc.Exists() {
			return nil, &Refusal{Kind: NotFound, Detail: "the bulk replay is gone"}
		}
		after = decodeBulk(doc)
		was := *after
		writes := q.progressOn(after, b, end)
		settled = after.State.Ended() && after.Replaying == 0
		if after.stands(&was) && !settled {
			return nil, nil
		}
		fields := after.progress()
		if after.State != was.State {
			fields[bulkState], fields[bulkEndedAt], fields[bulkEndReason] = string(after.State), after.EndedAt, after.EndReason
		}
		if settled {
			if reading(doc.Fields).flag(bulkSettled) { // the answer of its commit was lost
				return nil, nil
			}
			fields[bulkSettled] = true
		}
		return append([]Write{{
			Collection: contracts.CollectionReplays, ID: b.ID, Op: OpUpdate, IfUnchangedSince: doc.UpdateTime, Fields: fields,
		}}, writes...), nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("save progress: %w", err)
	}
	if !at.IsZero() {
		after.UpdateTime = at
	}
	return after, settled, nil
}

// stands reports whether it is no further than it was.
func (b *Bulk) stands(was *Bulk) bool {
	return b.State == was.State && b.Phase == was.Phase && b.Delivered == was.Delivered && b.Failed == was.Failed &&
		b.Skipped == was.Skipped && b.Replaying == was.Replaying && b.Waiting == was.Waiting && slices.Equal(b.FailedIDs, was.FailedIDs) &&
		maps.Equal(b.SkippedFor, was.SkippedFor) && maps.Equal(b.HeldFor, was.HeldFor)
}

// progressOn puts the numbers of known, and the end, on the bulk replay as it
// stands now, and returns the audit entry of the end. One that ended already keeps
// its end.
func (q *Queue) progressOn(b, known *Bulk, end *BulkEnd) []Write {
	b.Phase, b.Delivered, b.Failed, b.Skipped, b.Replaying, b.Waiting = known.Phase, known.Delivered, known.Failed, known.Skipped, known.Replaying, known.Waiting
	b.FailedIDs, b.SkippedFor, b.HeldFor = known.FailedIDs, known.SkippedFor, known.HeldFor
	if end == nil || b.State != BulkRunning {
		return nil
	}
	b.State, b.EndedAt, b.EndReason = end.State, q.moment(), end.Reason
	entry := b.entry(b.ID+"-"+string(end.State), Service(), end.action(), BulkRunning, end.State, end.Reason)
	return []Write{entry.Write()}
}
