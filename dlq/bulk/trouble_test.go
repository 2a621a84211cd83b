package bulk_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/dlq/bulk"
	"outboxrelay/dlq/dlqtest"
)

// flaky is a queue of which every other read for bulk replays fails.
type flaky struct {
	*dlq.Queue
	reads atomic.Int64
}

func (q *flaky) Pinned(ctx context.Context, ids []string) (map[string]*dlq.Item, error) {
	if q.reads.Add(1)%2 == 1 {
		return nil, status.Error(codes.DeadlineExceeded, "scripted")
	}
	return q.Queue.Pinned(ctx, ids)
}

// A bulk replay of more items than one call reads goes on after a restart although every
// other of these calls fails: what it has read it does not read again.
func TestARestartedBulkGoesOnInTrouble(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t)
	stop := f.Review()
	const items = 300
	f.Reviewable(items)
	b := f.Bulk(dlqtest.Granted, 1000)
	f.Eventually("it is under way", func() bool { return f.Now(b).Delivered >= 5 })
	stop()
	f.Start(dlqtest.Replays(f.Queue, f.Lanes, f.Config))
	f.Start(bulk.New(&flaky{Queue: f.Queue}, f.Config.BulkConfig()))
	if got := f.Ends(b, dlq.BulkDone); got.Delivered != items {
		t.Errorf("%d are delivered, want %d: %v", got.Delivered, items, dlqtest.Numbers(got))
	}
}

// refusing is a queue that does not take the first request.
type refusing struct {
	*dlq.Queue
	requests atomic.Int64
}

func (q *refusing) Decide(ctx context.Context, id string, d dlq.Decide) (*dlq.Decided, error) {
	if q.requests.Add(1) == 1 {
		return nil, status.Error(codes.DeadlineExceeded, "scripted")
	}
	return q.Queue.Decide(ctx, id, d)
}

// A request that fails holds up none of the others of its round, which is the canary
// here, and is made again: not after the delay of a run of which nothing works.
func TestARequestThatFailsHoldsUpNoOther(t *testing.T) {
	f := setup(t)
	f.Config.RetryMin, f.Config.RetryMax = time.Hour, time.Hour
	const items = 20
	f.Reviewable(items)
	b := f.Bulk(dlqtest.Granted, 1000)
	f.Start(dlqtest.Replays(f.Queue, f.Lanes, f.Config))
	f.Start(bulk.New(&refusing{Queue: f.Queue}, f.Config.BulkConfig()))
	if got := f.Ends(b, dlq.BulkDone); got.Delivered != items {
		t.Errorf("%d are delivered, want %d: %v", got.Delivered, items, dlqtest.Numbers(got))
	}
}

// unheard is a queue that takes the first request, and whose answer does not come before
// somebody has cancelled the bulk replay.
type unheard struct {
	*dlq.Queue
	once sync.Once
}

func (q *unheard) Decide(ctx context.Context, id string, d dlq.Decide) (decided *dlq.Decided, err error) {
	decided, err = q.Queue.Decide(ctx, id, d)
	q.once.Do(func() {
		_, cancelErr := q.CancelBulk(ctx, d.Bulk, dlqtest.Operator, "in an outage")
		decided, err = nil, errors.Join(status.Error(codes.DeadlineExceeded, "scripted"), err, cancelErr)
	})
	return decided, err
}

// A replay was asked for, and the bulk replay cancelled before it was known: the bulk replay
// is not through before that replay is, and counts it.
func TestACancelledBulkKnowsWhatItAskedFor(t *testing.T) {
	f := setup(t)
	f.Config.Save = time.Millisecond // the cancellation is read in the next round
	items := f.Reviewable(1)
	f.Start(bulk.New(&unheard{Queue: f.Queue}, f.Config.BulkConfig()))
	b := f.start(items...)
	f.Eventually("it is cancelled", func() bool { return f.Now(b).State == dlq.BulkCancelled })
	f.Eventually("its replay is under way", func() bool { return f.Now(b).Replaying == 1 })
	f.Start(dlqtest.Replays(f.Queue, f.Lanes, f.Config))
	f.Eventually("its replay is counted", func() bool { return f.Now(b).Delivered == 1 })
}

// What a person withdraws and replays by hand is no failure of the bulk replay, though
// it has ended by the time that the bulk replay looks.
func TestWithdrawnAndReplayedByHandIsNoFailure(t *testing.T) {
	f := setup(t)
	var well atomic.Bool
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if !well.Load() {
			return dlq.Round{Blocked: i.PendingTargets, Missing: i.PendingTargets}, nil
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	stop := f.Review()
	items := f.Reviewable(20)
	b := f.Bulk(dlqtest.Granted, 1000)
	f.Eventually("it asked", func() bool { return f.Now(b).Replaying == 5 })
	stop() // so that it looks only once they have ended
	for _, i := range items[:2] {
		f.Decide(i.ID, dlq.Withdraw, dlqtest.Operator)
		f.Decide(i.ID, dlq.Replay, dlqtest.Operator)
	}
	well.Store(true)
	part, err := dlqtest.Replays(f.Queue, f.Lanes, f.Config)
	end := f.Start(part, err)
	for _, i := range items[:2] {
		f.Reaches(i.ID, contracts.DeadReplayed)
	}
	end()
	f.Review()
	got := f.Ends(b, dlq.BulkDone)
	if got.Delivered != 18 || got.Skipped != 2 || got.Failed != 0 {
		t.Errorf("got %v, want 18 delivered and 2 skipped", dlqtest.Numbers(got))
	}
}
