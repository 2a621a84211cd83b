package dlq

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"outboxrelay/contracts"
)

// maxIn is how many values Firestore compares a field with at once.
const maxIn = 30

// DueAfter is a place among the dead letters in the order in which they are due.
// Its zero value stands before all.
type DueAfter struct {
	At time.Time
	ID string // "": after all of that time
}

// DueAt is the item's place.
func DueAt(i *Item) DueAfter { return DueAfter{i.NextReplayAt, i.ID} }

// Before reports whether it stands before other.
func (a DueAfter) Before(other DueAfter) bool {
	return a.At.Before(other.At) || a.At.Equal(other.At) && a.ID < other.ID
}

// DuePage is a page of what is to be replayed now.
type DuePage struct {
	Items []*Item   // the longest due first
	Next  time.Time // of the first that stands behind the page, which is past if there is more; zero: none
	More  bool
	Read  int      // dead letters that it took, also those that somebody closed by hand: they keep their time
	At    DueAfter // the last of these, behind which the next page begins
}

// Due reads at most limit dead letters of a tier and of the given outboxes that
// stand behind after and whose time has come, with no more than what tells whether
// and where they can be replayed.
func (q *Queue) Due(ctx context.Context, tier contracts.Tier, outboxes []string, after DueAfter, limit int) (page DuePage, err error) {
	now := q.now()
	page.At = after
	// Mostly nothing is due: what comes next tells that with one read.
	if page.Next, err = q.nextBehind(ctx, tier, outboxes, after); err != nil || page.Next.IsZero() || page.Next.After(now) {
		return page, err
	}
	docs, err := q.scheduled(ctx, tier, outboxes, after, limit+1, dueFields, Where{contracts.DeadFieldNextReplayAt, "<=", now})
	if err != nil {
		return DuePage{}, fmt.Errorf("find due dead letters: %w", err)
	}
	if page.More = len(docs) > limit; page.More {
		page.Next, docs = nextReplay(docs[limit]), docs[:limit]
	} else if page.Next, err = q.nextBehind(ctx, tier, outboxes, DueAfter{At: now}); err != nil {
		return DuePage{}, err
	}
	if page.Read = len(docs); page.Read > 0 {
		last := docs[page.Read-1]
		page.At = DueAfter{nextReplay(last), last.ID}
	}
	page.Items = slices.DeleteFunc(decodeItems(docs), func(i *Item) bool { return !i.Due(now) })
	return page, nil
}

// nextBehind is the time of the first that stands behind after; zero: there is none.
func (q *Queue) nextBehind(ctx context.Context, tier contracts.Tier, outboxes []string, after DueAfter) (time.Time, error) {
	docs, err := q.scheduled(ctx, tier, outboxes, after, 1, []string{contracts.DeadFieldNextReplayAt})
	if err != nil {
		return time.Time{}, fmt.Errorf("find next replay: %w", err)
	}
	if len(docs) == 0 {
		return time.Time{}, nil
	}
	return nextReplay(docs[0]), nil
}

// Asked returns at most limit dead letters of a tier and of the given outboxes
// that are to be replayed now because somebody asked for it after since, the
// latest request first, as Due does.
func (q *Queue) Asked(ctx context.Context, tier contracts.Tier, outboxes []string, since time.Time, limit int) ([]*Item, error) {
	now := q.now()
	if since.Before(anyTime) {
		since = anyTime
	}
	var asked []*Item
	for part := range slices.Chunk(outboxes, maxIn) {
		query := askedQuery(tier, part, since, limit)
		query.Select = dueFields
		docs, err := q.store.Query(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("find replays that were asked for: %w", err)
		}
		asked = append(asked, decodeItems(docs)...)
	}
	asked = slices.DeleteFunc(asked, func(i *Item) bool { return !i.Due(now) || i.Replaying == nil })
	slices.SortStableFunc(asked, func(a, b *Item) int { return b.Replaying.At.Compare(a.Replaying.At) })
	return asked[:min(len(asked), limit)], nil
}

// dueFields is what tells whether and where an item can be replayed now, and
// whose it is.
var dueFields = []string{
	contracts.DeadFieldTier, contracts.DeadFieldState, contracts.DeadFieldNextReplayAt, contracts.DeadFieldOutbox, contracts.FieldEventType,
	contracts.FieldTraceID, contracts.FieldAggregateID, contracts.FieldAggregateVersion, contracts.FieldLane, contracts.DeadFieldPendingTargets,
	contracts.DeadFieldReplaying, contracts.DeadFieldConsumer, contracts.DeadFieldRecord + "." + contracts.FieldShard,
}

// scheduled finds what has a time for its replay, stands behind after and meets
// the conditions, the first to come first.
func (q *Queue) scheduled(
	ctx context.Context, tier contracts.Tier, outboxes []string, after DueAfter, limit int, fields []string, conditions ...Where,
) ([]Doc, error) {
	var docs []Doc
	for part := range slices.Chunk(outboxes, maxIn) {
		query := dueQuery(tier, part, limit, conditions...)
		query.Select = fields
		if after.ID == "" {
			from := Where{contracts.DeadFieldNextReplayAt, ">", anyTime}
			if after.At.After(anyTime) {
				from.Value = after.At
			}
			query.Where = append(query.Where, from)
		} else {
			query.OrderBy, query.StartAfter = firstDue, []any{after.At, after.ID}
		}
		found, err := q.store.Query(ctx, query)
		if err != nil {
			return nil, err
		}
		docs = append(docs, found...)
	}
	slices.SortFunc(docs, func(a, b Doc) int { return cmp.Or(nextReplay(a).Compare(nextReplay(b)), cmp.Compare(a.ID, b.ID)) })
	return docs, nil
}

// askedQuery finds those whose replay was asked for after since, the latest first,
// in at most 30 outboxes.
func askedQuery(tier contracts.Tier, outboxes []string, since time.Time, limit int) Query {
	return Query{
		Collection: contracts.CollectionDeadLetters,
		Where: []Where{
			{contracts.DeadFieldTier, "==", string(tier)},
			{contracts.DeadFieldOutbox, "in", outboxes},
			{replayingAt, ">", since},
		},
		OrderBy: byAsked.OrderBy, Limit: limit,
	}
}

// dueQuery finds what meets the conditions on the time of its replay, the first
// to come first, in at most 30 outboxes.
func dueQuery(tier contracts.Tier, outboxes []string, limit int, conditions ...Where) Query {
	return Query{
		Collection: contracts.CollectionDeadLetters,
		Where: append([]Where{
			{contracts.DeadFieldTier, "==", string(tier)},
			{contracts.DeadFieldOutbox, "in", outboxes},
		}, conditions...),
		OrderBy: byDue.OrderBy, Limit: limit,
	}
}

// hasTime is the condition of all that is to be replayed at some time: null is
// none.
func hasTime() Where { return Where{contracts.DeadFieldNextReplayAt, ">", anyTime} }

// anyTime is before every time of a replay.
var anyTime = time.Unix(0, 0)

func nextReplay(d Doc) time.Time { return reading(d.Fields).time(contracts.DeadFieldNextReplayAt) }

// Defer moves the time of an item's next replay, because an older one comes
// first, whose ID is behind. An item that is not any more as it was read is refused as Changed.
func (q *Queue) Defer(ctx context.Context, item *Item, until time.Time, behind string) error {
	until = until.UTC().Truncate(time.Microsecond)
	_, err := q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		current, err := q.Item(ctx, item.ID)
		if err != nil {
			return nil, err
		}
		switch {
		case current.NextReplayAt.Equal(until):
			return nil, nil
		case !current.UpdateTime.Equal(item.UpdateTime):
			return nil, &Refusal{Kind: Changed, Detail: "it was changed since it was read"}
		}
		current.NextReplayAt = until
		changed := []string{contracts.DeadFieldNextReplayAt}
		if current.waits(current.Replaying, Waits{Behind: behind}) {
			changed = append(changed, contracts.DeadFieldReplaying)
		}
		return []Write{current.update(changed...)}, nil
	})
	if err != nil {
		return fmt.Errorf("defer replay of dead letter %s: %w", item.ID, err)
	}
	return nil
}
