package dlq_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// While its target is out a replay that a bulk replay asked for can be withdrawn.
// The bulk replay passes over it then, and comes to its end with the others.
func TestWithdrawnReplaysAreNotAskedForAgain(t *testing.T) {
	f := setup(t)
	one, two := f.letter("orgOutbox", "SkillRecognitionGranted", "a", 1), f.letter("orgOutbox", "SkillRecognitionGranted", "b", 1)
	f.bury(one, two)
	var well atomic.Bool
	f.lanes.follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if i.ID == one.ID || !well.Load() {
			return dlq.Round{Blocked: i.PendingTargets}, nil
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	b := f.bulk(granted, 1000)
	f.review()
	f.eventually("both wait for the target", func() bool { return f.lanes.count(one.ID) > 0 && f.lanes.count(two.ID) > 0 })
	f.decide(one.ID, dlq.Withdraw, operator)
	f.eventually("the bulk replay has passed over it", func() bool { return f.now(b).Skipped == 1 })
	well.Store(true)
	f.queue.Ring(dlq.BellReplays)
	got := f.ends(b, dlq.BulkDone)
	want := map[string]int{"total": 2, "delivered": 1, "failed": 0, "skipped": 1, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, numbers(got)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if i := f.item(one.ID); i.State != contracts.DeadAwaitingReview || i.Replaying != nil || i.Replays != 0 {
		t.Errorf("it is %s after %d replays, want that it waits for a review", i.State, i.Replays)
	}
}
