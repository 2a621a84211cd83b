package dlq

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// NoReason stands for a reason that was left out where it may be.
const NoReason = "none given"

// CancelBulk ends a bulk replay: it asks for nothing more, and what it asked
// for ends by itself. The reason may be left out.
func (q *Queue) CancelBulk(ctx context.Context, id string, a Actor, reason string) (*Bulk, error) {
	if a.Role < Operator {
		return nil, forbidden(a, Operator, "to cancel a bulk replay")
	}
	reason, err := optionalReason(reason)
	if err != nil {
		return nil, err
	}
	var after *Bulk
	decision, now := q.newID(), q.moment()
	at, err := q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		doc, err := q.get(ctx, contracts.CollectionReplays, id)
		if err != nil {
			return nil, err
		}
		if !doc.Exists() {
			return nil, &Refusal{Kind: NotFound, Detail: fmt.Sprintf("there is no bulk replay %q", id), Hint: "list the bulk replays to find its ID"}
		}
		after = decodeBulk(doc)
		if reading(doc.Fields).text(bulkCancel) == decision { // the answer of its commit was lost
			return nil, nil
		}
		if after.State.Ended() {
			return nil, &Refusal{Kind: Conflict, Detail: fmt.Sprintf("it is %s already, since %s", after.State, clock(after.EndedAt))}
		}
		from := after.State
		after.State, after.EndedAt, after.EndReason, after.CancelledBy = BulkCancelled, now, reason, a.Name
		return []Write{{
			Collection: contracts.CollectionReplays, ID: id, Op: OpUpdate, IfUnchangedSince: doc.UpdateTime,
			Fields: map[string]any{
				bulkState: string(BulkCancelled), bulkEndedAt: now, bulkEndReason: reason, bulkCancelledBy: a.Name, bulkCancel: decision,
			},
		}, after.entry(decision, a, actionCancel, from, BulkCancelled, reason).Write()}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("cancel bulk replay: %w", err)
	}
	if !at.IsZero() {
		after.UpdateTime = at
	}
	q.log.Info("bulk replay cancelled", zap.String("bulk", id), zap.String("actor", a.Name))
	q.Ring(BellBulk)
	return after, nil
}
