package relay

import (
	"context"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// consider judges a document that f read, or none, as the ledger does; where that
// is in doubt it reads the document again, and returns it as it stands now.
func (o *outbox) consider(ctx context.Context, d Doc, f *feed) (now Doc, c consideration, left <-chan struct{}) {
	if c, left = o.ledger.considerFor(d, f); c != considerDoubt {
		return d, c, left
	}
	again, same := o.readAgain(ctx, d)
	if !same {
		return d, considerKnown, nil
	}
	if c, left = o.ledger.considerFor(again, f); c == considerDoubt {
		c = considerTake
	}
	return again, c, left
}

// readAgain reads a document again that may have been settled since. It reports
// false when that is so: it is gone, or another status brings it on another way;
// and when ctx ended. It tries until Firestore answers.
func (o *outbox) readAgain(ctx context.Context, d Doc) (again Doc, same bool) {
	o.metrics.doubts.WithLabelValues(o.spec.Name).Inc()
	delay := newRetryDelay(o.tuning.ListenBackoff, o.tuning.ListenBackoffMax)
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
