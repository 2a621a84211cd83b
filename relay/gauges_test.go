package relay_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	localpubsub "outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/thorough"
)

// gauge is a gauge's value with exactly these labels, in pairs and sorted; -1 when there
// is none.
func (r *running) gauge(name string, labels ...string) float64 {
	r.f.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.f.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var has []string
			for _, l := range m.GetLabel() {
				has = append(has, l.GetName(), l.GetValue())
			}
			if slices.Equal(has, labels) {
				return m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

// TestGaugesTellWhatWaits: a record that a target's outage keeps from being delivered
// grows old and overdue, in memory or left in Firestore, and no more once it is.
func TestGaugesTellWhatWaits(t *testing.T) {
	f := setup(t, newCloud(t))
	policy := f.catalog.Lanes[contracts.StandardLane]
	policy.SLA = 50 * time.Millisecond
	f.catalog.Lanes[contracts.StandardLane] = policy
	f.shrink(outageWindow, outageInFlight)
	mend := f.breaks(localpubsub.Fault{Code: codes.Unavailable, Topic: f.catalog.Targets["FUNNEL"].Topic})
	r := f.run()
	r.alive()
	standard := []string{"lane", "STANDARD_LANE", "outbox", "wsOutbox"}
	if got := r.gauge("relay_oldest_waiting_seconds", standard...); got != 0 {
		t.Errorf("the oldest is %v s old before there is one", got)
	}

	records := f.series("wsOutbox", "NoteAdded", "workspace-1", 1, 30)
	f.append(records, 10)
	f.eventually("all of them are overdue", func() bool {
		return r.gauge("relay_overdue_records", standard...) == float64(len(records)) && r.gauge("relay_left_behind_records", standard...) > 0 &&
			r.gauge("relay_target_waiting_records", "target", "FUNNEL") == float64(len(records))
	})
	if got := r.gauge("relay_oldest_waiting_seconds", standard...); got < policy.SLA.Seconds() {
		t.Errorf("the oldest is %v s old, and overdue after %v", got, policy.SLA)
	}
	if got := r.gauge("relay_overdue_records", "lane", "BACKGROUND_LANE", "outbox", "wsOutbox"); got != 0 {
		t.Errorf("%v records of another lane are overdue", got)
	}

	mend()
	if got := f.delivered(records); got != (judgement{}) {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("nothing waits", func() bool {
		return r.gauge("relay_overdue_records", standard...) == 0 && r.gauge("relay_oldest_waiting_seconds", standard...) == 0 &&
			r.gauge("relay_left_behind_records", standard...) == 0 && r.gauge("relay_target_waiting_records", "target", "FUNNEL") == 0
	})
	if got := r.metric("relay_reads_total", "outbox", "wsOutbox"); got < float64(len(records)) {
		t.Errorf("%v documents were read, and %d records delivered", got, len(records))
	}
}

// TestGaugesTellOfADeafListener: its proof becomes due, however often it is rebuilt, and
// is not due any more once it hears again. That of another outbox never is.
func TestGaugesTellOfADeafListener(t *testing.T) {
	thorough.Long(t)
	f := setup(t, newCloud(t))
	f.tuning.SilenceBound = 300 * time.Millisecond
	r := f.run()
	r.alive()
	mend := f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Listen", Collection: "wsOutbox", Stall: true})
	deaf := func() float64 {
		return r.gauge("relay_listener_proof_overdue_seconds", "listener", "STANDARD_LANE", "outbox", "wsOutbox")
	}
	rebuilds := func() float64 {
		return r.metric("relay_listener_rebuilds_total", "outbox", "wsOutbox", "listener", "STANDARD_LANE", "reason", "silent")
	}
	f.eventually("it is rebuilt again and again", func() bool { return rebuilds() >= 3 })
	if got := deaf(); got < 2*f.tuning.SilenceBound.Seconds() {
		t.Errorf("its proof is due for %v s after two rebuilds in vain, want it to have grown through them", got)
	}
	f.eventually("the proof of another outbox is not due for as long", func() bool {
		return r.gauge("relay_listener_proof_overdue_seconds", "listener", "STANDARD_LANE", "outbox", "orgOutbox") < deaf()/2
	})
	mend()
	f.eventually("it is proven again", func() bool { return deaf() < 0.3 })
}
