package relay_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
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
