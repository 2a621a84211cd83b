package replayer_test

import (
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// A freeze holds records, not dead letters: the schedule goes on. What comes behind the dead
// letter that froze the aggregate waits for that one, as behind any older one of its outbox, and for
// no release.
func TestTheScheduleGoesOnBesideAFreeze(t *testing.T) {
	f := setup(t)
	blocked := f.Die("accOutbox", "RoleChanged", "acc-1", 2)
	older, younger := f.Die("accOutbox", "AccountCreated", "acc-1", 1), f.Die("accOutbox", "AccountCreated", "acc-1", 3)
	other := f.Die("wsOutbox", "TaskDone", "acc-1", 9)
	f.Replayer()
	f.Reaches(older.ID, contracts.DeadReplayed)
	f.Reaches(other.ID, contracts.DeadReplayed)
	f.Eventually("the younger one is behind", func() bool { return f.Item(younger.ID).NextReplayAt.After(younger.NextReplayAt) })
	if n := f.Lanes.Count(younger.ID); n != 0 || !f.Frozen("acc-1") {
		t.Errorf("%d replays of what comes behind %s, frozen %t; want none, and frozen", n, blocked.ID, f.Frozen("acc-1"))
	}
	f.Decide(blocked.ID, dlq.Discard, dlqtest.Security)
	f.Reaches(younger.ID, contracts.DeadReplayed)
	if !f.Frozen("acc-1") {
		t.Error("its discard has released the aggregate")
	}
}
