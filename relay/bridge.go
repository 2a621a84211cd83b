package relay

import (
	"context"
	"time"

	"outboxrelay/relay/feed"
)

// bridgeEvery is how often a page tells of what comes while a stream opens, which
// takes Firestore long when it is busy: its lane must not be blind meanwhile. Where
// nothing comes the pages become rarer, up to bridgeMost.
const (
	bridgeEvery = 200 * time.Millisecond
	bridgeMost  = 2 * time.Second
)

// bridge takes what pages show behind the feed's cursor, the freshest too, as a
// listener would, and returns how many records were new. It reports false when the
// reader has to catch up, as there is a backlog, or the feed was rewound. An error is
// the store's.
func (r *reader) bridge(ctx context.Context, generation int) (taken int, on bool, err error) {
	after, _ := r.intake.start()
	began := r.outbox.now()
	var carry []Doc // a commit's records that the page's edge cut through
	for {
		docs, full, err := r.page(ctx, after)
		if err != nil {
			return taken, false, err
		}
		if full && !fresh(docs[len(docs)-1]) {
			return taken, false, nil
		}
		if full {
			after = docs[len(docs)-1].position()
		}
		docs = append(carry, docs...)
		if full {
			docs, carry = cutLastGroup(docs)
		}
		b := r.news(ctx, docs)
		taken += len(b.entries)
		if ok, err := r.take(ctx, b, generation, feed.Partly); !ok || err != nil {
			return taken, false, err
		}
		if !full {
			r.intake.caughtUp(began)
			return taken, true, nil
		}
	}
}

// news is decode of what came lately: lanes that give way to this one do so for it.
func (r *reader) news(ctx context.Context, docs []Doc) batch {
	b := r.decode(ctx, docs)
	if len(b.entries) > 0 {
		r.outbox.flows(r.intake.lane)
	}
	return b
}
