package review_test

import (
	"context"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

func TestReviewReplaysOnRequestAlone(t *testing.T) {
	f := setup(t)
	asked := f.Die("orgOutbox", "SkillRecognitionGranted", "org-1", 1)
	other := f.Letter("orgOutbox", "SkillRecognitionGranted", "org-2", 1)
	other.NextReplayAt = other.DeadAt // though nobody asked
	f.Bury(other)
	f.Review()
	f.Decide(asked.ID, dlq.Replay, dlqtest.Operator)
	got := f.Reaches(asked.ID, contracts.DeadReplayed)
	if got.LastReplay.By != dlqtest.Operator.Name {
		t.Errorf("replayed for %q, want %q", got.LastReplay.By, dlqtest.Operator.Name)
	}
	if n := f.Lanes.Count(other.ID); n != 0 {
		t.Errorf("%d replays that nobody asked for", n)
	}
}

func TestFailedReplayWaitsForReviewAgain(t *testing.T) {
	f := setup(t)
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) { return dlqtest.Fails(i), nil })
	i := f.Die("orgOutbox", "SkillRecognitionGranted", "org-1", 1)
	f.Review()
	f.Decide(i.ID, dlq.Replay, dlqtest.Operator)
	f.Eventually("the replay ends", func() bool { return f.Item(i.ID).Replays == 1 })
	if got := f.Item(i.ID); got.State != contracts.DeadAwaitingReview || got.Replaying != nil || !got.NextReplayAt.IsZero() {
		t.Errorf("%s, replaying %v, next at %v; want awaiting_review, nothing, none", got.State, got.Replaying, got.NextReplayAt)
	}
	if n := f.Lanes.Count(i.ID); n != 1 {
		t.Errorf("%d rounds, want 1", n)
	}
}

func TestReviewMeasuresTheQueue(t *testing.T) {
	f := setup(t)
	f.Die("orgOutbox", "SkillRecognitionGranted", "org-1", 1)
	f.Die("orgOutbox", "SkillRecognitionGranted", "org-2", 1)
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Review()
	f.Eventually("the gauges show the queue", func() bool {
		return f.Counter("relay_dlq_items", "awaiting_review", "REVIEW_REQUIRED") == 2 && f.Counter("relay_dlq_items", "blocked", "SECURITY_BLOCK") == 1 &&
			f.Counter("relay_dlq_oldest_seconds", "awaiting_review", "REVIEW_REQUIRED") > 0
	})
	if got := f.Counter("relay_dlq_items", "scheduled", "SAFE_AUTO"); got != 0 {
		t.Errorf("%v scheduled, want none", got)
	}
}
