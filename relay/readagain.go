package relay

import (
	"context"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// judge judges a document that an intake read, or that was searched, as the ledger
// does; where that is in doubt it reads the document again, and returns it as it
// stands now.
func (o *outbox) judge(ctx context.Context, d Doc, by *intake) (now Doc, j feed.Judgement, leaves *entry) {
	switch j, leaves = o.ledger.judge(d, by); {
	case j == feed.Leaving && o.lingers(leaves):
		return d, feed.Known, nil
	case j != feed.Doubtful:
		return d, j, leaves
	}
	again, same := o.readAgain(ctx, d)
	if !same {
		return d, feed.Known, nil
	}
	if j, leaves = o.ledger.judge(again, by); j == feed.Doubtful {
		j = feed.Unknown
	}
	return again, j, leaves
}

// readAgain reads a document again that may have been settled since. It reports
// false when that is so: it is gone, or another status brings it on another way;
// and when ctx ended. It tries until Firestore answers.
func (o *outbox) readAgain(ctx context.Context, d Doc) (again Doc, same bool) {
	o.metrics.doubts.WithLabelValues(o.spec.Name).Inc()
	delay := o.tuning.retryDelay()
	for {
		again, exists, err := o.store.Get(ctx, o.spec.Name, d.ID)
		if err == nil {
			return again, exists && statusOf(again) == statusOf(d)
		}
		if ctx.Err() != nil {
			return d, false
		}
		o.log.Warn("read record again", zap.String("record", d.ID), zap.Error(err))
		delay.sleep(ctx)
	}
}

func statusOf(d Doc) any { return d.fields()[contracts.FieldStatus] }
