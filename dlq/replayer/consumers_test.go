package replayer_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// consumers is a dead letter of a consumer, which waits for a person; "": the relay's own.
func consumers(f *fixture, consumer, target string, version int64) *dlq.Item {
	i := f.Letter("orgOutbox", "SkillRecognitionGranted", "org-1", version)
	if i.Consumer, i.PendingTargets = consumer, []string{target}; consumer != "" {
		i.ID = dlq.ID(i.IdempotencyKey + "@" + consumer)
	}
	return i
}

// A consumer's dead letter stands in the way of that consumer's alone: while its target is
// out, the younger ones of another consumer, and of the relay, are delivered.
func TestAnotherConsumersIsNotWaitedFor(t *testing.T) {
	f := setup(t)
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if slices.Contains(i.PendingTargets, "NOTIF_ROUTER") {
			return dlq.Round{Blocked: i.PendingTargets, Missing: i.PendingTargets}, nil
		}
		return dlq.Round{Acked: i.PendingTargets, Missing: i.PendingTargets}, nil
	})
	theirs, others, own := consumers(f, "notifications", "NOTIF_ROUTER", 1), consumers(f, "projections", "FUNNEL", 2), consumers(f, "", "FUNNEL", 3)
	f.Bury(theirs, others, own)
	f.Review()
	for _, i := range []*dlq.Item{theirs, others, own} {
		f.Decide(i.ID, dlq.Replay, dlqtest.Operator) // none is refused: none comes before another
	}
	f.Reaches(others.ID, contracts.DeadReplayed)
	f.Reaches(own.ID, contracts.DeadReplayed)
	if now := f.Item(theirs.ID); now.State == contracts.DeadReplayed {
		t.Error("what waits for the target is replayed")
	}
}

// What waited for an older dead letter of its aggregate is called once that is decided,
// however many of consumers' stand in between, which do not come before it.
func TestTheNextIsCalledPastConsumersOwn(t *testing.T) {
	for name, between := range map[string]int64{"none": 0, "a few": 3, "many": 70} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			waits := func(i *dlq.Item) *dlq.Item {
				i.Tier, i.State, i.NextReplayAt = contracts.ReviewRequired, contracts.DeadAwaitingReview, time.Time{}
				return i
			}
			older := waits(f.Letter("wsOutbox", "TaskCompleted", "ws-1", 1))
			all := []*dlq.Item{older}
			for v := range between {
				i := waits(f.Letter("wsOutbox", "TaskCompleted", "ws-1", v+2))
				i.Consumer = "notifications"
				all = append(all, i)
			}
			younger := f.Letter("wsOutbox", "TaskCompleted", "ws-1", 100)
			younger.DeadAt = younger.DeadAt.Add(-time.Hour)
			f.Bury(append(all, younger)...)
			f.Replayer()
			f.Eventually("it waits for the older", func() bool { return f.Item(younger.ID).NextReplayAt.After(time.Now().Add(5 * time.Minute)) })
			f.Decide(older.ID, dlq.Discard, dlqtest.Operator)
			f.Reaches(younger.ID, contracts.DeadReplayed)
		})
	}
}
