package dlq_test

import (
	"context"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

func TestReviewReplaysOnRequestAlone(t *testing.T) {
	f := setup(t)
	asked := f.die("orgOutbox", "SkillRecognitionGranted", "org-1", 1)
	other := f.letter("orgOutbox", "SkillRecognitionGranted", "org-2", 1)
	other.NextReplayAt = other.DeadAt // though nobody asked
	f.bury(other)
	f.review()
	f.decide(asked.ID, dlq.Replay, operator)
	got := f.reaches(asked.ID, contracts.DeadReplayed)
	if got.LastReplay.By != operator.Name {
		t.Errorf("replayed for %q, want %q", got.LastReplay.By, operator.Name)
	}
	if n := f.lanes.count(other.ID); n != 0 {
		t.Errorf("%d replays that nobody asked for", n)
	}
}

func TestFailedReplayWaitsForReviewAgain(t *testing.T) {
	f := setup(t)
	f.lanes.follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) { return fails(i), nil })
	i := f.die("orgOutbox", "SkillRecognitionGranted", "org-1", 1)
	f.review()
	f.decide(i.ID, dlq.Replay, operator)
	f.eventually("the replay ends", func() bool { return f.item(i.ID).Replays == 1 })
	if got := f.item(i.ID); got.State != contracts.DeadAwaitingReview || got.Replaying != nil || !got.NextReplayAt.IsZero() {
		t.Errorf("%s, replaying %v, next at %v; want awaiting_review, nothing, none", got.State, got.Replaying, got.NextReplayAt)
	}
	if n := f.lanes.count(i.ID); n != 1 {
		t.Errorf("%d rounds, want 1", n)
	}
}

func TestReviewMeasuresTheQueue(t *testing.T) {
	f := setup(t)
	f.die("orgOutbox", "SkillRecognitionGranted", "org-1", 1)
	f.die("orgOutbox", "SkillRecognitionGranted", "org-2", 1)
	f.die("accOutbox", "RoleChanged", "acc-1", 1)
	f.review()
	f.eventually("the gauges show the queue", func() bool {
		return f.counter("relay_dlq_items", "awaiting_review", "REVIEW_REQUIRED") == 2 && f.counter("relay_dlq_items", "blocked", "SECURITY_BLOCK") == 1 &&
			f.counter("relay_dlq_oldest_seconds", "awaiting_review", "REVIEW_REQUIRED") > 0
	})
	if got := f.counter("relay_dlq_items", "scheduled", "SAFE_AUTO"); got != 0 {
		t.Errorf("%v scheduled, want none", got)
	}
}
