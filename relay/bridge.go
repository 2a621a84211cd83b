package relay

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// bridgeEvery is how often a page tells of what comes while a stream opens, which
// takes Firestore long when it is busy: its lane must not be blind meanwhile.
const bridgeEvery = 200 * time.Millisecond

// bridge takes what a page shows behind the feed's cursor, the freshest too, as a
// listener would. It reports false when pages have to go on, as there is more than
// one holds, or the feed was rewound.
func (r *reader) bridge(ctx context.Context, generation int) (on bool) {
	cursor, _ := r.feed.start()
	docs, full, err := r.page(ctx, cursor)
	if err != nil { // the stream that opens may have more luck
		r.log.Debug("read outbox while its listener opens", zap.Error(err))
		return ctx.Err() == nil
	}
	if full {
		return false
	}
	b := r.decode(ctx, docs)
	if len(b.entries) > 0 {
		r.outbox.flows(r.feed.lane)
	}
	on, err = r.take(ctx, b, generation)
	return on && err == nil
}
