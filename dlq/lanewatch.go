package dlq

import (
	"context"

	"outboxrelay/contracts"
)

// WatchLanes calls changed whenever a lane may have been paused or resumed,
// and once at the start, until ctx ends or the listener fails. It always
// returns an error. What stands, LaneControls reads.
func (q *Queue) WatchLanes(ctx context.Context, changed func()) error {
	return q.store.Watch(ctx, Query{Collection: contracts.CollectionLaneControl}, func([]Doc) { changed() })
}
