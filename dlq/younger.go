package dlq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// callWithin bounds a call: what has ended has been written, and whoever ended it waits
// to hear that.
const callWithin = 2 * time.Second

// callYounger makes those due now that waited for item, which has ended, and for no
// other. Nothing depends on it: who is not called looks again by itself, only later.
func (q *Queue) callYounger(outer context.Context, item *Item) {
	ctx, cancel := context.WithTimeout(outer, callWithin)
	defer cancel()
	younger, err := q.nextAfter(ctx, item)
	for _, y := range younger {
		if err == nil {
			err = q.call(ctx, y)
		}
	}
	if err != nil && outer.Err() == nil {
		q.log.Warn("call what waited for a dead letter", zap.String("deadLetter", item.ID), zap.String("traceId", item.TraceID), zap.Error(err))
	}
}

// maxYounger is how many younger dead letters of an aggregate are looked at for the next.
const maxYounger = 512

// nextAfter finds the open dead letters that come next after item in its aggregate and
// outbox, without their records: mostly none or one, for one read. Where consumers have
// some it looks at more, as theirs come before their own alone.
func (q *Queue) nextAfter(ctx context.Context, item *Item) ([]*Item, error) {
	if item.AggregateID == "" {
		return nil, nil
	}
	var younger []*Item
	for limit := 1; ; limit *= 8 {
		var err error
		if younger, err = q.younger(ctx, item, limit); err != nil {
			return nil, fmt.Errorf("find younger dead letters of the aggregate: %w", err)
		}
		// The first of the relay's own, or of the same consumer, comes before all behind it that wait for item.
		last := func(y *Item) bool { return y.Consumer == "" || y.Consumer == item.Consumer }
		if len(younger) < limit || limit >= maxYounger || slices.ContainsFunc(younger, last) {
			break
		}
	}
	var next []*Item
	for n, y := range younger {
		if item.comesBefore(y) && !slices.ContainsFunc(younger[:n], func(o *Item) bool { return o.comesBefore(y) }) {
			next = append(next, y)
		}
	}
	return next, nil
}

// comesBefore reports whether another of its aggregate and outbox waits for the item.
func (i *Item) comesBefore(other *Item) bool {
	return i.AggregateVersion < other.AggregateVersion && (i.Consumer == "" || i.Consumer == other.Consumer)
}

// younger finds the first open ones of a higher version.
func (q *Queue) younger(ctx context.Context, item *Item, limit int) ([]*Item, error) {
	query := olderQuery(item)
	query.Where[len(query.Where)-1].Op, query.Limit = ">", limit
	docs, err := q.store.Query(ctx, query)
	return decodeItems(docs), err
}

// call makes an item due now whose turn was put off. One whose own time has not come
// keeps it.
func (q *Queue) call(ctx context.Context, item *Item) error {
	now, id, read := q.moment(), item.ID, true
	_, err := q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		if !read { // it was changed meanwhile
			var err error
			if item, err = q.Item(ctx, id); err != nil {
				return nil, err
			}
		}
		read = false
		if !Open(item.State) || !item.NextReplayAt.After(now) || q.ownTime(item).After(now) {
			return nil, nil
		}
		called := *item
		called.NextReplayAt = now
		return []Write{called.update(contracts.DeadFieldNextReplayAt)}, nil
	})
	if err != nil {
		return fmt.Errorf("make dead letter %s due: %w", id, err)
	}
	return nil
}

// ownTime is when the item would have come to be due at the latest with nothing before it.
func (q *Queue) ownTime(i *Item) time.Time {
	since := i.DeadAt
	switch {
	case i.Replaying != nil:
		return time.Time{} // it was due when it was asked for
	case i.LastReplay != nil:
		since = i.LastReplay.At
	}
	return since.Add(q.catalog.Replay.Delay(i.Replays, 1))
}
