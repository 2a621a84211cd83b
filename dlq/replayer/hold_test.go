package replayer_test

import (
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// TestWhatWaitsForATargetSaysSo: each replay that somebody asked for, also those that were
// not tried, as nothing is tried with a target that cannot be reached; and no other.
func TestWhatWaitsForATargetSaysSo(t *testing.T) {
	f := setup(t)
	asked := f.Reviewable(3)
	scheduled := f.Die("wsOutbox", "TaskCompleted", "task", 1)
	for _, i := range asked {
		f.Decide(i.ID, dlq.Replay, dlqtest.Operator)
	}
	out := &unreachable{Lanes: f.Lanes}
	f.Start(dlqtest.Replays(f.Queue, out, f.Config))
	f.Start(dlqtest.Replayer(f.Queue, out, f.Config))
	for _, i := range asked {
		f.Eventually("it says what it waits for", func() bool {
			return f.Item(i.ID).Replaying.Waits.Equal(dlq.WaitsForTargets([]string{"FUNNEL"}))
		})
	}
	noted := f.Item(asked[0].ID).UpdateTime
	before := out.asked.Load()
	f.Eventually("it is asked again and again whether the target can be reached", func() bool { return out.asked.Load() > before+10 })
	if !f.Item(asked[0].ID).UpdateTime.Equal(noted) {
		t.Error("what it waits for was written more than once")
	}
	if i := f.Item(scheduled.ID); i.Replaying != nil {
		t.Errorf("%+v was noted on one that nobody asked for", i.Replaying)
	}
	out.well.Store(true)
	f.Queue.Ring(dlq.BellReplays)
	for _, i := range asked {
		if got := f.Reaches(i.ID, contracts.DeadReplayed); got.Replaying != nil {
			t.Errorf("it was delivered and has %+v", got.Replaying)
		}
	}
}
