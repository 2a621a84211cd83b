package relay_test

import (
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// TestReplayThatIsNotWantedAnyMoreIsNotDelivered decides about a dead letter
// while its replay waits in a paused lane: nothing is delivered when that goes on.
func TestReplayThatIsNotWantedAnyMoreIsNotDelivered(t *testing.T) {
	t.Parallel()
	for _, action := range []dlq.Action{dlq.Withdraw, dlq.Discard} {
		t.Run(string(action), func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.tuning.ReplayRecheck = time.Nanosecond
			f.withQueue(nil)
			record, bury := f.deadSchedule(1)
			r := f.run()
			id := bury().ID
			decide := func(a dlq.Action) {
				t.Helper()
				if _, err := f.queue.Decide(t.Context(), id, dlq.Decide{Action: a, Actor: operator, Reason: "because"}); err != nil {
					t.Fatal(err)
				}
			}
			decide(dlq.Replay)
			f.pause(r, contracts.StandardLane)
			ended := make(chan error, 1)
			item := f.item(record)
			go func() { _, err := r.relay.Replay(t.Context(), item); ended <- err }()
			f.eventually("it is queued", func() bool { return r.lane(contracts.StandardLane).Queued == 1 })
			decide(action)
			f.resume(r, contracts.StandardLane)
			if err := <-ended; err == nil {
				t.Error("the replay ended as if it had been made")
			}
			if n := f.arrived("FUNNEL"); n > 0 {
				t.Errorf("FUNNEL got %d messages", n)
			}
		})
	}
}
