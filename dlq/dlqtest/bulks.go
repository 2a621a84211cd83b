package dlqtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"outboxrelay/dlq"
)

// Reviewable makes n dead letters that wait for a review, each of its own aggregate.
func (f *Fixture) Reviewable(n int) []*dlq.Item {
	f.T.Helper()
	var all []*dlq.Item
	for range n {
		all = append(all, f.Letter("orgOutbox", "SkillRecognitionGranted", fmt.Sprintf("org-%04d", f.reviewable), 1))
		f.reviewable++
	}
	f.Bury(all...)
	return all
}

// Granted is a filter for those that Reviewable makes.
var Granted = dlq.Filter{EventType: "SkillRecognitionGranted"}

// Bulk starts a bulk replay, which must succeed.
func (f *Fixture) Bulk(filter dlq.Filter, perSecond float64) *dlq.Bulk {
	f.T.Helper()
	b, err := f.Queue.StartBulk(f.T.Context(), dlq.BulkRequest{Filter: filter, RatePerSecond: perSecond, Actor: Operator, Reason: "mended"})
	if err != nil {
		f.T.Fatal(err)
	}
	return b
}

// Now reads how a bulk replay stands.
func (f *Fixture) Now(b *dlq.Bulk) *dlq.Bulk {
	f.T.Helper()
	got, err := f.Queue.Bulk(f.T.Context(), b.ID)
	if err != nil {
		f.T.Fatal(err)
	}
	return got
}

// Ends waits until the bulk replay has a state and nothing of it is under way.
func (f *Fixture) Ends(b *dlq.Bulk, want dlq.BulkState) *dlq.Bulk {
	f.T.Helper()
	var got *dlq.Bulk
	f.Eventually("the bulk replay is "+string(want), func() bool {
		if got = f.Now(b); got.State != want && got.State != dlq.BulkRunning {
			f.T.Fatalf("the bulk replay is %s (%s), want it %s", got.State, got.EndReason, want)
		}
		return got.State == want && got.Replaying == 0
	})
	return got
}

// FailsLate lets the replays of these items fail, once the function that it returns
// saw so many of b delivered that two failures are not too many of them.
func (f *Fixture) FailsLate(failing ...*dlq.Item) (after func(b *dlq.Bulk)) {
	enough := make(chan struct{})
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if !slices.ContainsFunc(failing, func(other *dlq.Item) bool { return other.ID == i.ID }) {
			return dlq.Round{Acked: i.PendingTargets}, nil
		}
		select {
		case <-enough:
			return Fails(i), nil
		case <-ctx.Done():
			return dlq.Round{}, ctx.Err()
		}
	})
	return func(b *dlq.Bulk) {
		f.T.Helper()
		f.Eventually("enough are delivered", func() bool { return f.Now(b).Delivered >= 10 })
		close(enough)
	}
}

// Numbers are a bulk replay's, to compare.
func Numbers(b *dlq.Bulk) map[string]int {
	return map[string]int{"total": b.Total, "delivered": b.Delivered, "failed": b.Failed, "skipped": b.Skipped, "replaying": b.Replaying, "waiting": b.Waiting}
}

// Refused checks that err is a refusal of that kind.
func Refused(t *testing.T, err error, want dlq.RefusalKind) {
	t.Helper()
	if r, ok := errors.AsType[*dlq.Refusal](err); !ok || r.Kind != want {
		t.Errorf("got %v, want a refusal that is %s", err, want)
	}
}
