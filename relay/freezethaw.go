package relay

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/relay/feed"
)

// thaws are the aggregates of an outbox whose freeze is gone and whose records
// are to be read again, in order.
type thaws struct {
	mu      sync.Mutex
	waiting map[string]struct{}
	wake    chan struct{}
}

func newThaws() *thaws {
	return &thaws{waiting: make(map[string]struct{}), wake: make(chan struct{}, 1)}
}

func (t *thaws) add(aggregateID string) {
	t.mu.Lock()
	t.waiting[aggregateID] = struct{}{}
	t.mu.Unlock()
	signal(t.wake)
}

// take empties the list and returns what was on it. What comes to be added
// while that is worked on is on the next.
func (t *thaws) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Collect(maps.Keys(t.waiting))
	clear(t.waiting)
	return out
}

// thawPause is how long a thaw waits for the end of a delivery under way before
// it looks again.
const thawPause = 10 * time.Millisecond

// thawLoop lets aggregates go on whose freeze is gone, until ctx ends.
func (o *outbox) thawLoop(ctx context.Context) {
	delay := o.tuning.retryDelay()
	for ctx.Err() == nil {
		waiting := o.thaws.take()
		if len(waiting) == 0 {
			select {
			case <-o.thaws.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		if o.thawEach(ctx, waiting) {
			delay.reset()
			sleep(ctx, thawPause)
		} else {
			delay.sleep(ctx)
		}
	}
}

// thawEach tries each of the aggregates once. It reports false when Firestore
// did not answer.
func (o *outbox) thawEach(ctx context.Context, aggregates []string) (answered bool) {
	answered = true
	for _, aggregateID := range aggregates {
		over := false
		err := o.guard.do(partThaw, func() (err error) {
			over, err = o.thaw(ctx, aggregateID)
			return err
		})
		if err != nil && ctx.Err() == nil {
			answered = false
			o.log.Warn("read the records of a released aggregate", zap.String("aggregateId", aggregateID), zap.Error(err))
		}
		if !over {
			o.thaws.add(aggregateID)
		}
	}
	return answered
}

// thaw lets one aggregate go on: once none of its records is in memory any
// more, it looks where the oldest pending one stands, which other runs may have
// held, and sends the feeds back there in the same step in which they open.
// Those that other runs left in backoff become pending before that: the younger
// ones would overtake them. It reports false when it has to be tried again.
func (o *outbox) thaw(ctx context.Context, aggregateID string) (over bool, err error) {
	number := o.freezes.thaw(o, aggregateID)
	if number == 0 {
		return true, nil // frozen again meanwhile
	}
	o.withdraw(aggregateID, o.leave)
	if o.ledger.holds(aggregateID) {
		return false, nil
	}
	if taken, err := o.takeBackoff(ctx, aggregateID); taken > 0 || err != nil {
		return false, err // they are about to leave memory as pending ones
	}
	oldest, strays, err := o.pendingOf(ctx, aggregateID)
	if err != nil {
		return false, err
	}
	if o.freezes.thawed(o, aggregateID, number, oldest) {
		o.takeStrays(ctx, strays)
	}
	return true, nil
}

// takeBackoff takes the records of an aggregate in backoff into memory that are
// not there, and returns how many.
func (o *outbox) takeBackoff(ctx context.Context, aggregateID string) (taken int, err error) {
	entries, err := o.retrying(ctx, aggregateID)
	if err != nil {
		return 0, err
	}
	return o.takeRetrying(entries), nil
}

// pendingOf finds the oldest pending record of an aggregate in each feed, and
// those that no feed brings.
func (o *outbox) pendingOf(ctx context.Context, aggregateID string) (oldest map[*feed.Feed]Position, strays []Doc, err error) {
	oldest = make(map[*feed.Feed]Position)
	scan := o.scan(ScanAggregate)
	scan.Aggregate = aggregateID
	err = o.pageByID(ctx, scan, func(d Doc) {
		in := o.intakeFor(laneOf(d))
		if in == nil || d.CreatedAt.IsZero() {
			strays = append(strays, d)
			return
		}
		o.read(in)
		if p, ok := oldest[in.feed]; !ok || d.position().Before(p) {
			oldest[in.feed] = d.position()
		}
	})
	return oldest, strays, err
}
