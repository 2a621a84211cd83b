package dlq

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// bulkEnd is how a bulk replay ends by itself.
type bulkEnd struct {
	state  BulkState
	action string
	reason string
}

// canaryFailed counts the failures of the canary.
func (r *bulkRun) canaryFailed() (failed int) {
	for n := range r.first {
		if r.states[n] == pinFailed {
			failed++
		}
	}
	return failed
}

// verdict says whether the bulk replay ends now, and how; nil: it goes on.
func (r *bulkRun) verdict() *bulkEnd {
	left := slices.ContainsFunc(r.states, func(s pinState) bool { return !s.finished() })
	switch {
	case r.bulk.State != BulkRunning:
		return nil
	case !left:
		return &bulkEnd{BulkDone, actionFinish, "each item has ended or was passed over"}
	case r.canaryFailed() > canaryMayFail:
		reason := fmt.Sprintf("%d of the first %d replays failed", r.canaryFailed(), len(r.first))
		return &bulkEnd{BulkStopped, actionStop, reason}
	}
	if reason := r.latest.tooMany(); reason != "" {
		return &bulkEnd{BulkStopped, actionStop, reason}
	}
	return nil
}

// errBulkGone means that somebody deleted the bulk replay's document.
var errBulkGone = errors.New("the bulk replay is gone")

// save writes how far it is, and its end if there is one, and reads whether
// somebody cancelled it.
func (r *bulkRun) save(ctx context.Context, end *bulkEnd) error {
	ctx, stop := lingering(ctx, r.cfg.Grace)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	var after *Bulk
	settled := false
	at, err := r.queue.commit(ctx, func(ctx context.Context) ([]Write, error) {
		doc, err := r.queue.get(ctx, contracts.CollectionReplays, r.bulk.ID)
		if err != nil {
			return nil, err
		}
		if !doc.Exists() {
			return nil, errBulkGone
		}
		after = decodeBulk(doc)
		was := *after
		writes := r.progressOn(after, end)
		settled = after.State != BulkRunning && after.Replaying == 0
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
			Collection: contracts.CollectionReplays, ID: r.bulk.ID, Op: OpUpdate, IfUnchangedSince: doc.UpdateTime, Fields: fields,
		}}, writes...), nil
	})
	switch {
	case errors.Is(err, errBulkGone):
		r.log.Warn("run bulk replay", zap.Error(err))
		r.settled = true
		return nil
	case err != nil:
		return fmt.Errorf("save progress: %w", err)
	}
	if !at.IsZero() {
		after.UpdateTime = at
	}
	if r.bulk.State == BulkRunning && after.State != BulkRunning {
		r.cfg.Metrics.bulkEnds.WithLabelValues(string(after.State)).Inc()
	}
	r.bulk, r.settled = after, settled
	return nil
}

// stands reports whether it is no further than it was.
func (b *Bulk) stands(was *Bulk) bool {
	return b.State == was.State && b.Phase == was.Phase && b.Delivered == was.Delivered && b.Failed == was.Failed &&
		b.Skipped == was.Skipped && b.Replaying == was.Replaying && b.Waiting == was.Waiting && slices.Equal(b.FailedIDs, was.FailedIDs)
}

// progressOn puts the numbers, and the end, on the bulk replay as it stands
// now, and returns the audit entry of the end. One that ended already keeps its
// end.
func (r *bulkRun) progressOn(b *Bulk, end *bulkEnd) []Write {
	b.Phase, b.Delivered, b.Failed, b.Skipped, b.Replaying, b.Waiting = r.bulk.Phase, r.bulk.Delivered, r.bulk.Failed, r.bulk.Skipped, r.bulk.Replaying, r.bulk.Waiting
	b.FailedIDs = r.bulk.FailedIDs
	if end == nil || b.State != BulkRunning {
		return nil
	}
	b.State, b.EndedAt, b.EndReason = end.state, r.queue.moment(), end.reason
	entry := b.entry(b.ID+"-"+string(end.state), Service(), end.action, BulkRunning, end.state, end.reason)
	return []Write{entry.Write()}
}
