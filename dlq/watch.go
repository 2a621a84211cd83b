package dlq

import (
	"context"

	"outboxrelay/contracts"
)

// MaxWatched is how many outboxes one listener takes.
const MaxWatched = maxIn

// WatchDue calls changed whenever the first limit dead letters of a tier and of
// these outboxes, MaxWatched at most, that have a time for their replay may have
// changed, and once at the start, until ctx ends or the listener fails. It always
// returns an error. What is due, Due reads.
func (q *Queue) WatchDue(ctx context.Context, tier contracts.Tier, outboxes []string, limit int, changed func()) error {
	return q.store.Watch(ctx, dueQuery(tier, outboxes, limit, hasTime()), func([]Doc) { changed() })
}

// WatchAsked does as WatchDue, for the latest limit dead letters whose replay
// somebody asked for. Asked reads them.
func (q *Queue) WatchAsked(ctx context.Context, tier contracts.Tier, outboxes []string, limit int, changed func()) error {
	return q.store.Watch(ctx, askedQuery(tier, outboxes, anyTime, limit), func([]Doc) { changed() })
}

// WatchUnpublished calls changed whenever the first limit alerts that wait to be
// published may have changed, as WatchDue does. Unpublished reads them.
func (q *Queue) WatchUnpublished(ctx context.Context, limit int, changed func()) error {
	query := unpublished
	query.Limit = limit
	return q.store.Watch(ctx, query, func([]Doc) { changed() })
}

// WatchReleases calls changed whenever a release was decided, or is done, as
// WatchDue does. Releases reads them.
func (q *Queue) WatchReleases(ctx context.Context, changed func()) error {
	return q.store.Watch(ctx, decidedReleases, func([]Doc) { changed() })
}

// WatchUnsettled calls told with the first of the bulk replays that are not
// through, now and after each change, as WatchDue does.
func (q *Queue) WatchUnsettled(ctx context.Context, told func([]*Bulk)) error {
	return q.store.Watch(ctx, unsettled, func(docs []Doc) { told(decodeBulks(docs)) })
}

// WatchLetters calls told with the latest limit dead letters, now and after each
// change, as WatchDue does.
func (q *Queue) WatchLetters(ctx context.Context, limit int, told func([]*Item)) error {
	query := Query{Collection: contracts.CollectionDeadLetters, OrderBy: latestDead, Limit: limit}
	return q.store.Watch(ctx, query, func(docs []Doc) { told(decodeItems(docs)) })
}

// WatchBulks does as WatchLetters, for the latest bulk replays.
func (q *Queue) WatchBulks(ctx context.Context, limit int, told func([]*Bulk)) error {
	query := Query{Collection: contracts.CollectionReplays, OrderBy: latestBulk, Limit: limit}
	return q.store.Watch(ctx, query, func(docs []Doc) { told(decodeBulks(docs)) })
}

// WatchEntries does as WatchLetters, for the latest entries of the audit.
func (q *Queue) WatchEntries(ctx context.Context, limit int, told func([]*Entry)) error {
	query := Query{Collection: contracts.CollectionAudit, OrderBy: latestEntry, Limit: limit}
	return q.store.Watch(ctx, query, func(docs []Doc) {
		entries := make([]*Entry, len(docs))
		for n, d := range docs {
			entries[n] = DecodeEntry(d)
		}
		told(entries)
	})
}

// WatchLanes calls changed whenever a lane may have been paused or resumed,
// and once at the start, until ctx ends or the listener fails. It always
// returns an error. What stands, LaneControls reads.
func (q *Queue) WatchLanes(ctx context.Context, changed func()) error {
	return q.store.Watch(ctx, Query{Collection: contracts.CollectionLaneControl}, func([]Doc) { changed() })
}
