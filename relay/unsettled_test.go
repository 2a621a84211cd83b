package relay_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
)

// unsettling has no commit of wsOutbox answered, until the returned function is called.
func (f *fixture) unsettling() (mend func()) {
	return f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Commit", Match: settles("wsOutbox"), Code: codes.Unavailable})
}

// While the marks of an outbox cannot be written, its records grow old: those that are
// delivered, and those that find no room behind them. Nothing is overdue of what is
// delivered.
func TestGaugesTellWhatCannotBeSettled(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	const room = 10
	f.shrink(200, room)
	defer f.unsettling()()
	r := f.run()
	r.alive()
	oldest := func(outbox string) float64 {
		return r.gauge("relay_oldest_waiting_seconds", "lane", "STANDARD_LANE", "outbox", outbox)
	}
	delivered := f.series("wsOutbox", "TaskCompleted", "delivered", 1, room)
	f.append(delivered, room)
	f.eventually("they are delivered, and their marks wait", func() bool {
		return f.judge(delivered).missing == 0 && r.lane(contracts.StandardLane).Settling == room
	})
	begun := oldest("wsOutbox")
	if begun <= 0 {
		t.Errorf("the oldest record that is not settled is %v s old", begun)
	}
	f.eventually("it grows older", func() bool { return oldest("wsOutbox") > begun+1 })
	if n := r.gauge("relay_overdue_records", "lane", "STANDARD_LANE", "outbox", "wsOutbox"); n != 0 {
		t.Errorf("%v records are overdue, want none of those that are delivered", n)
	}
	if n := r.lane(contracts.StandardLane).Settling; n != room {
		t.Errorf("%d records settle, want the %d whose commits are tried again", n, room)
	}
	f.eventually("the lane tells of them alone", func() bool {
		told := r.lane(contracts.StandardLane).Unsettled
		return len(told) == 1 && told[0].Outbox == "wsOutbox" && told[0].Records == room && !told[0].Since.IsZero()
	})
	if told := r.lane(contracts.CriticalLane).Unsettled; told != nil {
		t.Errorf("another lane tells of %+v", told)
	}
	f.eventually("nothing waits in another outbox", func() bool { return oldest("skillOutbox") == 0 })
}

// What waits in Firestore for room, older than all that is in memory, counts for its age.
func TestGaugesTellWhatFindsNoRoom(t *testing.T) {
	f := setup(t, newCloud(t))
	const room = 10
	f.shrink(200, room)
	f.tuning.SweepInterval = time.Hour
	mend := f.unsettling()
	r := f.run()
	r.alive()
	young := f.series("wsOutbox", "TaskCompleted", "young", 1, room)
	f.append(young, room)
	f.eventually("there is no room", func() bool { return f.judge(young).missing == 0 })
	const age = 3600
	old := f.record("wsOutbox", "TaskCompleted", "old", 1)
	f.appendOdd(old, func(fields map[string]any) { fields[contracts.FieldCreatedAt] = time.Now().Add(-age * time.Second) })
	f.eventually("it counts for its age", func() bool {
		return r.gauge("relay_oldest_waiting_seconds", "lane", "STANDARD_LANE", "outbox", "wsOutbox") >= age
	})
	if f.judge([]*contracts.Record{old}).missing == 0 {
		t.Error("it found room")
	}
	mend()
	if got, want := f.delivered(append(young, old)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("nothing waits", func() bool {
		return r.gauge("relay_oldest_waiting_seconds", "lane", "STANDARD_LANE", "outbox", "wsOutbox") == 0 && r.lane(contracts.StandardLane).Settling == 0 && r.lane(contracts.StandardLane).Unsettled == nil
	})
}
