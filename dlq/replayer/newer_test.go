package replayer_test

import (
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// A dead letter in a state of a newer version, which was rolled back, is left to that version,
// though its time has come: it is neither replayed nor given up, and keeps no other from its replay.
func TestDeadLetterInAStateOfANewerVersionIsLeft(t *testing.T) {
	f := setup(t)
	newer, known := f.Letter("wsOutbox", "TaskDone", "ws-1", 1), f.Letter("wsOutbox", "TaskDone", "ws-2", 1)
	newer.State = "quarantined"
	newer.NextReplayAt = newer.NextReplayAt.Add(-time.Hour)
	f.Bury(newer, known)
	f.Replayer()
	f.Reaches(known.ID, contracts.DeadReplayed)
	if n := f.Lanes.Count(newer.ID); n != 0 {
		t.Errorf("%d replays of it, want none", n)
	}
	for _, a := range []dlq.Action{dlq.Replay, dlq.Discard, dlq.Note} {
		if _, err := f.Queue.Decide(t.Context(), newer.ID, dlq.Decide{Action: a, Actor: dlqtest.Security, Reason: "x"}); dlq.AsRefusal(err) == nil {
			t.Errorf("%s: %v, want it refused", a, err)
		}
	}
	if got := f.Item(newer.ID); got.State != "quarantined" || !got.NextReplayAt.Equal(newer.NextReplayAt.Truncate(time.Microsecond)) {
		t.Errorf("it is %s, due at %v, want it as it was", got.State, got.NextReplayAt)
	}
}
