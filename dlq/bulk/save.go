package bulk

import (
	"context"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"outboxrelay/dlq"
	"outboxrelay/dlq/sibling"
)

// canaryFailed counts the failures of the canary.
func (r *run) canaryFailed() (failed int) {
	for n := range r.first {
		if r.states[n] == pinFailed {
			failed++
		}
	}
	return failed
}

// canaryTried counts the replays of the canary that were asked for.
func (r *run) canaryTried() (tried int) {
	for n := range r.first {
		if s := r.states[n]; s != pinSkipped && s != pinWaiting {
			tried++
		}
	}
	return tried
}

// verdict says whether the bulk replay ends now, and how; nil: it goes on.
func (r *run) verdict() *dlq.BulkEnd {
	left := slices.ContainsFunc(r.states, func(s pinState) bool { return !s.finished() })
	switch {
	case r.bulk.State != dlq.BulkRunning:
		return nil
	case !left && r.orphaned():
		return &dlq.BulkEnd{State: dlq.BulkStopped, Reason: "nothing of it could be replayed: " + dlq.ReasonsInWords(r.bulk.SkippedFor)}
	case !left && r.bulk.Skipped > 0:
		return &dlq.BulkEnd{State: dlq.BulkDone, Reason: "each item has ended or was passed over: " + dlq.ReasonsInWords(r.bulk.SkippedFor)}
	case !left:
		return &dlq.BulkEnd{State: dlq.BulkDone, Reason: "each item has ended or was passed over"}
	case r.canaryFailed() > canaryMayFail:
		reason := fmt.Sprintf("%d of the first %d replays failed", r.canaryFailed(), r.canaryTried())
		return &dlq.BulkEnd{State: dlq.BulkStopped, Reason: reason}
	}
	if reason := r.latest.tooMany(); reason != "" {
		return &dlq.BulkEnd{State: dlq.BulkStopped, Reason: reason}
	}
	return nil
}

// save writes how far it is, and its end if there is one, and reads whether
// somebody cancelled it.
func (r *run) save(ctx context.Context, end *dlq.BulkEnd) error {
	ctx, stop := sibling.Lingering(ctx, r.cfg.Grace)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	after, settled, err := r.queue.SaveBulk(ctx, r.bulk, end)
	why := dlq.AsRefusal(err)
	switch {
	case why != nil && why.Kind == dlq.NotFound: // somebody deleted it
		r.log.Warn("run bulk replay", zap.Error(why))
		r.settled = true
		return nil
	case err != nil:
		return err
	}
	if !after.State.Known() {
		r.log.Warn("bulk replay stands in a state that this version does not know, left to one that does", zap.String("state", string(after.State)))
		r.left = true
	}
	if r.bulk.State == dlq.BulkRunning && after.State.Ended() {
		r.cfg.Metrics.ends.WithLabelValues(string(after.State)).Inc()
	}
	r.bulk, r.settled = after, settled
	return nil
}
