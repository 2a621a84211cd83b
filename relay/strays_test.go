package relay_test

import (
	"sync/atomic"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// Also what no lane's query shows may be missed by its listener.
func TestSweepFindsAStrayThatItsListenerMissed(t *testing.T) {
	f := setup(t, newCloud(t))
	stray := f.record("wsOutbox", "TaskCompleted", "stray", 1)
	var hidden atomic.Int64
	f.wrapStore = func(store relay.Store) relay.Store { return hiding(store, stray.ID, &hidden) }
	r := f.sweeping()
	f.leftBy([]*contracts.Record{stray}, map[string]any{"lane": "FAST_LANE"})
	f.dead(stray)
	if n := r.metric("relay_sweep_found_total", "outbox", "wsOutbox", "found", "missed"); hidden.Load() == 0 || n != 1 {
		t.Errorf("hidden %d times and found %v times, want it found once", hidden.Load(), n)
	}
}
