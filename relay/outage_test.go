package relay_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localpubsub "outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/thorough"
)

// Memory and window of the outage tests; more records than both wait.
const (
	outageWindow   = 10
	outageInFlight = 20
)

var outages = []struct {
	name  string
	fault localpubsub.Fault
}{
	{"Unavailable", localpubsub.Fault{Code: codes.Unavailable}},
	{"NotFound", localpubsub.Fault{Code: codes.NotFound}},
	{"PermissionDenied", localpubsub.Fault{Code: codes.PermissionDenied}},
	{"hangs", localpubsub.Fault{Delay: time.Hour}},
}

func TestOutageHoldsBackWhatNeedsTheTargetAlone(t *testing.T) {
	t.Parallel()
	for n, outage := range outages {
		for _, restart := range []bool{false, true} {
			if restart != (n%2 == 1) && !thorough.Whole() {
				continue // each outage once
			}
			name := outage.name
			if restart {
				name += ", restarted meanwhile"
			}
			t.Run(name, func(t *testing.T) { outlivesOutage(t, outage.fault, restart) })
		}
	}
}

func outlivesOutage(t *testing.T, fault localpubsub.Fault, restart bool) {
	f := setup(t, newCloud(t))
	f.shrink(outageWindow, outageInFlight)
	f.retries(3, 50*time.Millisecond)
	f.tuning.OutageTolerance = 1 << 20 // one record probes, however long
	fault.Topic = f.catalog.Targets["FUNNEL"].Topic
	mend := f.breaks(fault)
	if fault.Delay > 0 {
		mend = f.impatient("FUNNEL", 2*time.Second, mend)
	}
	r := f.run()

	both, all := f.scheduleRecords()
	f.append(all, 9)
	most := 0
	f.eventually("all that does not need the target arrives", func() bool {
		most = max(most, r.outbox("schedOutbox").InMemory)
		return f.arrived("ORG_SCHEDULE") >= 60 && f.arrived("NOTIF_ROUTER") >= len(both) && f.arrived("AUDIT_COLLECTOR") >= 30
	})
	f.eventually("the target's records are left in Firestore", func() bool {
		return f.breakerOpen(r, "FUNNEL") && r.outbox("schedOutbox").InMemory <= 1 && f.unmarked(all, contracts.Delivered) == len(both)
	})
	// Running and resting records of two lanes; a page ends with a whole commit.
	if bound := 2 * 4 * outageInFlight; most > bound {
		t.Errorf("%d records were in memory, want %d at most", most, bound)
	}
	f.wantWaiting(both)
	if restart {
		r.stop()
		if got := f.waiting(both); got != len(both) {
			t.Errorf("after a clean stop %d of %d records know that NOTIF_ROUTER has them", got, len(both))
		}
		r = f.run()
		r.alive()
		f.eventually("the breaker opens again", func() bool { return f.breakerOpen(r, "FUNNEL") })
	}
	mend()
	if got, want := f.delivered(all), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once at each target and in order", got)
	}
	f.eventually("nothing is left behind", func() bool {
		o := r.outbox("schedOutbox")
		return o.InMemory == 0 && o.LeftBehind == 0
	})
	if dead := f.deadLetters(); len(dead) > 0 {
		t.Errorf("got %d dead letters, want none", len(dead))
	}
}

// scheduleRecords makes records that need FUNNEL and NOTIF_ROUTER (both), and
// others of the same aggregates, outbox and lane that do not, and some of
// another lane.
func (f *fixture) scheduleRecords() (both, all []*contracts.Record) {
	for v := range int64(5) {
		for a := range 12 {
			agg := fmt.Sprintf("schedule-%d", a)
			r := f.record("schedOutbox", "ScheduleAssigned", agg, 2*v+1)
			both = append(both, r)
			all = append(all, r, f.record("schedOutbox", "ScheduleProposed", agg, 2*v+2))
		}
	}
	return both, append(all, f.series("schedOutbox", "AuditEvent", "schedule-0", 1, 30)...)
}

func (f *fixture) breakerOpen(r *running, target string) bool {
	for _, b := range r.relay.Health().Breakers {
		if b.Target == target {
			return b.State != "closed"
		}
	}
	return false
}

// waiting counts the records that stand as pending and know that one of their
// targets has them.
func (f *fixture) waiting(records []*contracts.Record) int {
	n := 0
	for _, fields := range f.documents(records) {
		if fields["status"] == "pending" && cmp.Equal(fields["deliveredTargets"], []any{"NOTIF_ROUTER"}) {
			n++
		}
	}
	return n
}

// wantWaiting checks that an outage has cost the records nothing.
func (f *fixture) wantWaiting(records []*contracts.Record) {
	f.t.Helper()
	// One stays in memory to probe the target: what it has got is written when it leaves.
	f.eventually("the progress of all but the probe is stored", func() bool { return f.waiting(records) >= len(records)-1 })
	for i, fields := range f.documents(records) {
		if attempts, ok := fields["attempts"]; ok && attempts != int64(0) {
			f.t.Errorf("record %s has %v attempts, want none", records[i].ID, attempts)
		}
		if fields["status"] != "pending" {
			f.t.Errorf("record %s is %v, want pending", records[i].ID, fields["status"])
		}
	}
	if dead := f.deadLetters(); len(dead) > 0 {
		f.t.Errorf("got %d dead letters, want none", len(dead))
	}
	if n := f.arrived("FUNNEL"); n > 0 {
		f.t.Errorf("%d messages reached the target that is down", n)
	}
}

// While records of a target that is down fill the head of a lane, the lane's
// listener starts behind them: it hears of new records, and its canary proves
// it alive.
func TestOutageLeavesListenersAlive(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	f.shrink(outageWindow, outageInFlight)
	f.tuning.SilenceBound = 20 * time.Second // more than a machine stands still: one rebuild is a failure
	f.tuning.OutageTolerance = 1 << 20       // one record probes, however long
	mend := f.breaks(localpubsub.Fault{Topic: f.catalog.Targets["FUNNEL"].Topic, Code: codes.Unavailable})
	r := f.run()
	var blocked []*contracts.Record
	for a := range 60 {
		blocked = append(blocked, f.record("schedOutbox", "CompensatingScheduleCancelled", fmt.Sprintf("cancel-%d", a), 1))
	}
	f.append(blocked, 7)
	f.eventually("the records are left in Firestore", func() bool {
		return f.breakerOpen(r, "FUNNEL") && r.outbox("schedOutbox").InMemory <= 1
	})
	f.eventually("the listener is proven alive behind them", func() bool {
		return r.listener("schedOutbox", "STANDARD_LANE").ProvenAt != nil && r.listener("schedOutbox", "STANDARD_LANE").State == "alive"
	})
	rounds := 5
	if thorough.Whole() {
		rounds = 20
	}
	var others []*contracts.Record
	for round := range rounds {
		proven := *r.listener("schedOutbox", "STANDARD_LANE").ProvenAt
		more := f.series("schedOutbox", "ScheduleProposed", fmt.Sprintf("proposal-%d", round), 1, 3)
		f.append(more, 3)
		f.eventually("new records arrive", func() bool { return f.judge(more).missing == 0 })
		f.eventually("the canary is seen again", func() bool { return r.listener("schedOutbox", "STANDARD_LANE").ProvenAt.After(proven) })
		others = append(others, more...)
	}
	if n := r.listener("schedOutbox", "STANDARD_LANE").Rebuilds; n > 0 {
		t.Errorf("the listener was rebuilt %d times (%s), want never", n, r.listener("schedOutbox", "STANDARD_LANE").LastReason)
	}
	mend()
	if got, want := f.delivered(slices.Concat(blocked, others)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}
