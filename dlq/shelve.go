package dlq

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// ActionShelve is the audit's word for Shelve.
const ActionShelve = "shelve"

// Timed lists dead letters, without their records, that have a time for a
// replay: by their schedule, or because somebody asked. They are those of the
// outboxes given, at most limit of each tier, the first to come first.
func (q *Queue) Timed(ctx context.Context, outboxes []string, limit int) ([]*Item, error) {
	var out []*Item
	for _, tier := range contracts.Tiers() {
		docs, err := q.scheduled(ctx, tier, outboxes, DueAfter{}, limit, withoutRecord)
		if err != nil {
			return nil, fmt.Errorf("find dead letters that wait for a replay: %w", err)
		}
		for _, i := range decodeItems(docs) {
			if Open(i.State) {
				out = append(out, i)
			}
		}
	}
	return out, nil
}

// Shelve takes the time of a dead letter's replay away, and the request for one:
// it waits for a person from now on, as REVIEW_REQUIRED where it was SAFE_AUTO.
// It is for dead letters that came back with an export: what was asked for then
// may have been done since. One that waits for nothing is left as it is.
func (q *Queue) Shelve(ctx context.Context, id string, actor Actor, reason string) error {
	reason, err := ReasonOf(reason)
	if err != nil {
		return err
	}
	decision := Decision{ID: q.newID(), By: actor.Name, At: q.moment(), Reason: reason}
	_, err = q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		item, err := q.Item(ctx, id)
		if err != nil {
			return nil, err
		}
		if item.decided(decision.ID) || !Open(item.State) || item.NextReplayAt.IsZero() && item.Replaying == nil {
			return nil, nil
		}
		return item.shelved(decision, actor), nil
	})
	if err != nil {
		return fmt.Errorf("shelve dead letter %s: %w", id, err)
	}
	q.log.Info("dead letter shelved", zap.String("deadLetter", id), zap.String("actor", actor.Name))
	return nil
}

// shelved renders the item as it waits for a person. The machine has a row for
// it: its automatic replays are over, or the replay that was asked for is.
func (i *Item) shelved(d Decision, actor Actor) []Write {
	after := *i
	d.Action = Failed
	if i.Tier == contracts.SafeAuto {
		d.Action = Exhausted
	}
	if row, ok := Next(i.Place(), d.Action); ok {
		after.Tier, after.State = row.To.Tier, row.To.State
	}
	after.NextReplayAt, after.Replaying = time.Time{}, nil
	after.Decisions = bounded(i.Decisions, d)
	entry := after.entry(d.ID, actor, ActionShelve, i.State, d.Reason)
	return []Write{
		after.update(contracts.DeadFieldTier, contracts.DeadFieldState, contracts.DeadFieldNextReplayAt, contracts.DeadFieldReplaying, contracts.DeadFieldDecisions),
		entry.Write(),
	}
}
