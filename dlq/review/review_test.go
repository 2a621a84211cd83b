package review_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
	"outboxrelay/dlq/review"
	"outboxrelay/dlq/sibling"
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

// twoOfEach is a queue in which two dead letters wait in each state. It counts how
// often it is asked.
type twoOfEach struct{ asked int }

func (q *twoOfEach) Waiting(context.Context, contracts.DeadState) (dlq.StateCount, error) {
	q.asked++
	return dlq.StateCount{Open: 2, Oldest: time.Now().Add(-time.Hour)}, nil
}

func (q *twoOfEach) Now() time.Time { return time.Now() }

// TestLeaderAloneMeasuresTheQueue: one that leads no more shows nothing of the queue
// as it was, which would keep an alert up, and reads nothing.
func TestLeaderAloneMeasuresTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &dlqtest.Fixture{T: t, Registry: prometheus.NewRegistry()}
		var leads atomic.Bool
		queue := &twoOfEach{}
		r, err := review.New(queue, review.Config{
			Config: sibling.Config{Leads: leads.Load}, Metrics: review.NewMetrics(f.Registry), GaugeEvery: time.Minute,
		})
		stop := f.Start(r, err)
		for _, lead := range []bool{false, true, false} {
			queue.asked = 0
			leads.Store(lead)
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			items, oldest := f.Counter("relay_dlq_items", "blocked", "SECURITY_BLOCK"), f.Counter("relay_dlq_oldest_seconds", "blocked", "SECURITY_BLOCK")
			if tells := items > 0 || oldest > 0 || queue.asked > 0; tells != lead {
				t.Errorf("leads is %t: %v dead letters, the oldest for %v s, the queue asked %d times; want it told by the leader alone", lead, items, oldest, queue.asked)
			}
		}
		stop()
	})
}
