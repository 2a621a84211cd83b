package replayer_test

import (
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// What somebody asks for is replayed at once, whatever the clock of the instance
// that takes the request: the one that replays it has another.
func TestRequestOnAnInstanceWithAnotherClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			i := f.Letter("wsOutbox", "TaskDone", "ws-1", 1)
			i.NextReplayAt = i.NextReplayAt.Add(24 * time.Hour)
			f.Bury(i)
			review := f.Die("orgOutbox", "OrgContextProvisioned", "org-1", 1)
			f.Replayer()
			f.Review()
			other, err := dlq.New(dlq.Config{Store: f.Store, Catalog: f.Catalog, Now: func() time.Time { return time.Now().Add(ahead) }})
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{i.ID, review.ID} {
				if _, err := other.Decide(t.Context(), id, dlq.Decide{Action: dlq.Replay, Actor: dlqtest.Operator, Reason: "because"}); err != nil {
					t.Fatal(err)
				}
				f.Reaches(id, contracts.DeadReplayed)
			}
		})
	}
}

// So it is where the clock of the only instance is wrong.
func TestRequestOnTheOnlyInstanceWithAWrongClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			review := f.Die("orgOutbox", "OrgContextProvisioned", "org-1", 1)
			var err error
			if f.Queue, err = dlq.New(dlq.Config{Store: f.Store, Catalog: f.Catalog, Now: func() time.Time { return time.Now().Add(ahead) }}); err != nil {
				t.Fatal(err)
			}
			f.Review()
			if _, err := f.Queue.Decide(t.Context(), review.ID, dlq.Decide{Action: dlq.Replay, Actor: dlqtest.Operator, Reason: "because"}); err != nil {
				t.Fatal(err)
			}
			f.Reaches(review.ID, contracts.DeadReplayed)
		})
	}
}
