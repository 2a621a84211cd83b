package dlq

import (
	"context"
	"fmt"
	"slices"

	"outboxrelay/contracts"
)

// Progress notes which targets still miss the item's record, and that its replay waits
// for those that are out, after a round that an outage stopped: those that acknowledged
// are left out of the next. It is no end, and counts nothing. An item that was replayed,
// closed or buried anew meanwhile is left as it is.
func (q *Queue) Progress(ctx context.Context, item *Item, round Round) error {
	_, err := q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		current, err := q.Item(ctx, item.ID)
		if err != nil {
			return nil, err
		}
		pending := stillPending(current, round.Missing, round.Acked)
		if !Open(current.State) || current.Replays != item.Replays || !current.DeadAt.Equal(item.DeadAt) || slices.Equal(current.PendingTargets, pending) {
			return nil, nil
		}
		current.PendingTargets = pending
		changed := []string{contracts.DeadFieldPendingTargets}
		if current.waits(item.Replaying, WaitsForTargets(round.Blocked)) {
			changed = append(changed, contracts.DeadFieldReplaying)
		}
		return []Write{current.update(changed...)}, nil
	})
	if err != nil {
		return fmt.Errorf("note progress of dead letter %s: %w", item.ID, err)
	}
	return nil
}

// stillPending is what lacks the item's record after some acknowledged it.
// An item without pending targets means all of its route, which is what the
// round set out for.
func stillPending(item *Item, missing, acked []string) []string {
	if len(item.PendingTargets) > 0 {
		return without(item.PendingTargets, acked)
	}
	return without(missing, acked)
}
