package relay

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/relay/feed"
)

// loadRetrying takes the records in backoff into memory, before anything else is
// taken. It tries until it succeeded or ctx ends.
func (o *outbox) loadRetrying(ctx context.Context) {
	delay := o.tuning.retryDelay()
	for {
		entries, err := o.retrying(ctx, "")
		if err == nil {
			o.takeRetrying(entries)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		o.log.Warn("read records in backoff", zap.Error(err))
		delay.sleep(ctx)
	}
}

// retrying reads the records in backoff, of one aggregate if that is given, that
// are not in memory.
func (o *outbox) retrying(ctx context.Context, aggregateID string) ([]*entry, error) {
	scan := o.scan(ScanRetrying)
	scan.Aggregate = aggregateID
	var entries []*entry
	err := o.pageByID(ctx, scan, func(d Doc) {
		if d, j, _ := o.judge(ctx, d, nil); j == feed.Unknown {
			entries = append(entries, o.newRetrying(d))
		}
	})
	return entries, err
}

// longestWait is how long a record may say that it waits for its retry, whatever
// the catalog's longest: that may have been longer when it was written.
const longestWait = 10 * time.Minute

// newRetrying decodes a record in backoff. Its feed does not bring it, and may not
// have read the older ones of its aggregate yet.
func (o *outbox) newRetrying(d Doc) *entry {
	e := o.newEntry(d, nil)
	e.Origin = feed.Searched
	if in := o.intakeFor(e.rec.Lane); in != nil {
		o.read(in)
	}
	e.wait = e.rec.NextAttemptAt
	if most := o.now().Add(max(o.catalog.Retry.Max, longestWait)); e.wait.After(most) {
		e.wait = most
	}
	return e
}

// takeRetrying takes records in backoff into memory, those of an aggregate in the
// order of their versions, and returns how many were not there.
func (o *outbox) takeRetrying(entries []*entry) (taken int) {
	slices.SortStableFunc(entries, byVersion)
	for _, e := range entries {
		if o.found(e) {
			taken++
		}
	}
	return taken
}

// aheadPause is how often a record in backoff looks whether its feed has come to
// it.
const aheadPause = 250 * time.Millisecond
