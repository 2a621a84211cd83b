package lease

import (
	"fmt"
	"testing"
	"time"

	"outboxrelay/dlq"
)

// TestOneLeaseIsLostWhileFirestoreIsSlow: of many leases one is another's by now, which refuses the commit that renews them
// all. The others are renewed before they lapse, though each commit takes half a second.
func TestOneLeaseIsLostWhileFirestoreIsSlow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.shares = nil
		for i := range 40 {
			w.shares = append(w.shares, fmt.Sprintf("share-%02d", i))
		}
		a := w.start("A", func(n *node, _ *Config) { n.client.latency = 250 * time.Millisecond })
		w.until("A owns all", func() bool { return w.shared(a) })
		lost := w.shares[0]
		taken := conditioned(lost, w.doc(lost).updated, map[string]any{fieldOwner: "B", fieldNonce: "B.1"})
		if _, err := w.store.Commit(t.Context(), []dlq.Write{taken}); err != nil {
			t.Fatal(err)
		}
		w.pass(3 * w.term)
		if lapsed, lost := a.count(eventLapsed), a.count(eventLost); lapsed > 0 || lost != 1 {
			t.Errorf("%d leases lapsed and %d were lost, want 0 and 1", lapsed, lost)
		}
	})
}
