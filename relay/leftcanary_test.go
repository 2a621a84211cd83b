package relay_test

import (
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// The canary of a lane that left the catalog, whose instance crashed, passes for
// pending: it is removed, and nothing is pending.
func TestCanaryLeftByACrashIsRemoved(t *testing.T) {
	f := setup(t, newCloud(t))
	canary := map[string]any{
		contracts.FieldStatus: string(contracts.Pending), contracts.FieldLane: string(leftLane), contracts.FieldCreatedAt: time.Unix(0, 0), relay.FieldCanary: "left",
	}
	const left = "skillOutbox/!relay-canary." + string(leftLane)
	if _, err := f.db.Doc(left).Set(f.ctx, canary); err != nil {
		t.Fatal(err)
	}
	r := f.sweeping()
	f.eventually("it is removed, and nothing is pending", func() bool {
		return !slices.Contains(f.canaries(), left) && r.outbox("skillOutbox").Pending == 0
	})
	if l := r.outbox("skillOutbox").Listeners; slices.ContainsFunc(l, func(l relay.ListenerHealth) bool { return l.Listener == string(leftLane) }) {
		t.Errorf("its lane is read: %v", l)
	}
}
