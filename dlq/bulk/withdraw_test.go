package bulk_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// While its target is out a replay that a bulk replay asked for can be withdrawn.
// The bulk replay passes over it then, and comes to its end with the others.
func TestWithdrawnReplaysAreNotAskedForAgain(t *testing.T) {
	f := setup(t)
	one, two := f.Letter("orgOutbox", "SkillRecognitionGranted", "a", 1), f.Letter("orgOutbox", "SkillRecognitionGranted", "b", 1)
	f.Bury(one, two)
	var well atomic.Bool
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if i.ID == one.ID || !well.Load() {
			return dlq.Round{Blocked: i.PendingTargets}, nil
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	b := f.Bulk(dlqtest.Granted, 1000)
	f.Review()
	f.Eventually("both wait for the target", func() bool { return f.Lanes.Count(one.ID) > 0 && f.Lanes.Count(two.ID) > 0 })
	f.Decide(one.ID, dlq.Withdraw, dlqtest.Operator)
	f.Eventually("the bulk replay has passed over it", func() bool { return f.Now(b).Skipped == 1 })
	well.Store(true)
	f.Queue.Ring(dlq.BellReplays)
	got := f.Ends(b, dlq.BulkDone)
	want := map[string]int{"total": 2, "delivered": 1, "failed": 0, "skipped": 1, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, dlqtest.Numbers(got)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if i := f.Item(one.ID); i.State != contracts.DeadAwaitingReview || i.Replaying != nil || i.Replays != 0 {
		t.Errorf("it is %s after %d replays, want that it waits for a review", i.State, i.Replays)
	}
}
