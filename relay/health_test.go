package relay_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	localpubsub "outboxrelay/deploy/local/pubsub"
	"outboxrelay/relay"
)

// TestHealthTellsWhatWaitsForATarget: by outbox, the one that probes included.
func TestHealthTellsWhatWaitsForATarget(t *testing.T) {
	f := setup(t, newCloud(t))
	mend := f.breaks(localpubsub.Fault{Code: codes.Unavailable, Topic: f.catalog.Targets["FUNNEL"].Topic})
	r := f.run()
	records := f.series("wsOutbox", "NoteAdded", "workspace-1", 1, 30)
	f.append(records, 10)
	want := relay.TargetWaiting{Target: "FUNNEL", Outbox: "wsOutbox", Records: len(records)}
	f.eventually("all of them wait for FUNNEL", func() bool {
		waiting := r.relay.Health().Waiting
		return len(waiting) == 1 && waiting[0] == want
	})
	mend()
	if got := f.delivered(records); got != (judgement{}) {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("nothing waits", func() bool { return len(r.relay.Health().Waiting) == 0 })
	for _, l := range r.relay.Health().Lanes {
		if l.Lane == contracts.StandardLane && l.Received < l.Delivered || l.Lane != contracts.StandardLane && l.Received != 0 {
			t.Errorf("%s received %d and delivered %d", l.Lane, l.Received, l.Delivered)
		}
	}
}

// TestHealthTellsWhyItIsNotReady: what Firestore answers, where it does, in place of saying that it cannot
// be reached.
func TestHealthTellsWhyItIsNotReady(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault localfirestore.Fault
		term  time.Duration // 0: without leases
		want  string
	}{
		{
			"its registration is refused",
			localfirestore.Fault{Method: "Commit", Code: codes.PermissionDenied},
			15 * time.Second,
			"neither registered to own outboxes, nor a listener of one alive whose lease is valid: Firestore answers PermissionDenied",
		},
		{
			"its registration is not answered",
			localfirestore.Fault{Method: "Commit", Code: codes.Unavailable},
			15 * time.Second,
			"neither registered to own outboxes, nor a listener of one alive whose lease is valid: Firestore cannot be reached (Unavailable)",
		},
		{
			"its listeners are refused",
			localfirestore.Fault{Method: "Listen", Code: codes.PermissionDenied},
			0,
			"no listener is alive: Firestore answers PermissionDenied",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			mend := f.cloud.embedded.Faults().Add(test.fault)
			var r *running
			if test.term == 0 {
				r = f.run()
			} else {
				r = f.member("a", test.term, nil).running
			}
			var h relay.Health
			f.eventually("it is not ready, and says why", func() bool { h = r.relay.Health(); return !h.Ready && h.Reason == test.want })
			mend()
			f.eventually("it is ready", func() bool { h = r.relay.Health(); return h.Ready && h.Reason == "" })
		})
	}
}
