package lease

import (
	"slices"
	"testing"
	"time"

	"outboxrelay/dlq"
)

// TestOneLeaseIsLostWhileFirestoreIsSlow: of many leases one is another's by now, which refuses the commit that renews them
// all. The others are renewed before they lapse, though each commit takes half a second.
func TestOneLeaseIsLostWhileFirestoreIsSlow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.shares = slices.Sorted(slices.Values(names("s", 40)))
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

// TestOneLeaseIsNotToBeHadWhileFirestoreIsSlow: of many leases another is quicker to take one, which refuses the commit that
// takes them all. Those that are taken one by one then are renewed before they lapse.
func TestOneLeaseIsNotToBeHadWhileFirestoreIsSlow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.shares = slices.Sorted(slices.Values(names("s", 40)))
		a := w.start("A", func(n *node, _ *Config) {
			n.client.latency = 250 * time.Millisecond
			refused := 0
			n.client.faults.commit = func(writes []dlq.Write) error {
				if len(writes) > len(w.shares) && refused < 2 { // as it enters, and as it goes on
					refused++
					return &fakeError{"FailedPrecondition", true}
				}
				return nil
			}
		})
		w.until("A owns all", func() bool { return w.shared(a) })
		w.pass(3 * w.term)
		if lapsed, lost := a.count(eventLapsed), a.count(eventLost); lapsed > 0 || lost > 0 {
			t.Errorf("%d leases lapsed and %d were lost, want none", lapsed, lost)
		}
	})
}
