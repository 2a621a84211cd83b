package relay_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	localpubsub "outboxrelay/deploy/local/pubsub"
)

// A dead letter is out of reach while the breakers of all targets that it is
// pending for are open.
func TestReachable(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	_, bury := f.deadSchedule(1)
	r := f.run()
	item := bury()
	if !r.relay.Reachable(item) {
		t.Error("it is out of reach while its target is well")
	}
	f.breaks(localpubsub.Fault{Code: codes.Unavailable, Topic: f.catalog.Targets["FUNNEL"].Topic})
	f.eventually("the breaker opens", func() bool { r.replay(item); return f.breakerOpen(r, "FUNNEL") })
	f.eventually("it is out of reach", func() bool { r.replay(item); return !r.relay.Reachable(item) })
	partly := *item
	partly.PendingTargets = nil // all of its route
	if !r.relay.Reachable(&partly) {
		t.Error("it is out of reach though another target is well")
	}
}
