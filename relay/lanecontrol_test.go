package relay_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay"
)

var operator = dlq.Actor{Name: "op@example.com", Role: dlq.Operator}

// pause pauses a lane and waits until the relay heard of it; resume undoes that.
func (f *fixture) pause(r *running, lane contracts.Lane)  { f.setLane(r, lane, true) }
func (f *fixture) resume(r *running, lane contracts.Lane) { f.setLane(r, lane, false) }

func (f *fixture) setLane(r *running, lane contracts.Lane, paused bool) {
	f.t.Helper()
	if _, err := f.queue.SetLane(f.ctx, lane, paused, operator, "maintenance"); err != nil {
		f.t.Fatal(err)
	}
	f.eventually("the lane follows", func() bool { return r.lane(lane).Paused == paused })
}

// lane is the health of a lane.
func (r *running) lane(lane contracts.Lane) relay.LaneHealth {
	all := r.relay.Health().Lanes
	return all[slices.IndexFunc(all, func(l relay.LaneHealth) bool { return l.Lane == lane })]
}

func TestPauseStopsALaneOnEveryInstance(t *testing.T)         { pauses(t, newCloud(t)) }
func TestPauseStopsALaneOnEveryInstanceOnGoogle(t *testing.T) { pauses(t, onGoogle(t)) }

func pauses(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.withQueue(nil)
	r := f.run()
	mine := f.queue
	f.withQueue(nil) // as of another instance: no bell of it rings here
	f.pause(r, contracts.StandardLane)
	h := r.lane(contracts.StandardLane)
	if h.PausedBy != operator.Name || h.PausedAt == nil || h.Reason != "maintenance" {
		t.Errorf("health says that it was paused by %q at %v because of %q", h.PausedBy, h.PausedAt, h.Reason)
	}
	told, err := json.Marshal(r.relay.Health())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(told), operator.Name) || strings.Contains(string(told), "maintenance") {
		t.Errorf("what everybody may read tells who paused it, or why: %s", told)
	}
	tasks := f.series("wsOutbox", "TaskCompleted", "agg", 1, 10)
	audits := f.series("wsOutbox", "AuditEvent", "agg", 1, 10)
	f.append(slices.Concat(tasks, audits), 5)
	f.delivered(audits)

	// The pause outlives the relay, and is in force before anything is read.
	r.stop()
	f.queue = mine
	r = f.run()
	f.eventually("they are queued again", func() bool { return r.lane(contracts.StandardLane).Queued == len(tasks) })
	if n := f.unmarked(tasks, contracts.Pending) + f.arrived("FUNNEL"); n > 0 {
		t.Errorf("%d records of the paused lane were delivered", n)
	}
	f.resume(r, contracts.StandardLane)
	if got, want := f.delivered(tasks), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	if h := r.lane(contracts.StandardLane); h.PausedBy != "" || h.PausedAt != nil {
		t.Errorf("health still says that it was paused by %q", h.PausedBy)
	}
}
