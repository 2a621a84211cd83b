package lease

import (
	"context"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// TestHalfTaken: whatever an instance that is gone left of its registration and of
// leases, those that run all the while own everything again when its term is over.
func TestHalfTaken(t *testing.T) {
	const gone = "G"
	registration := func(w *world, stopping bool) dlq.Write {
		return dlq.Write{Collection: contracts.CollectionLeases, ID: registrationPrefix + gone, Op: dlq.OpSet, Fields: map[string]any{
			fieldKind: kindInstance, fieldInstance: gone, fieldSince: dlq.ServerTime{}, fieldNonce: "of G", fieldTerm: w.term.Milliseconds(),
			fieldStopping: stopping, fieldShares: w.shares,
		}}
	}
	lease := func(w *world, share, owner string) dlq.Write {
		return dlq.Write{Collection: contracts.CollectionLeases, ID: share, Op: dlq.OpSet, Fields: map[string]any{
			fieldKind: kindLease, fieldShare: share, fieldOwner: owner, fieldNonce: "of G", fieldSince: dlq.ServerTime{}, fieldTerm: w.term.Milliseconds(),
		}}
	}
	for name, left := range map[string]func(w *world) []dlq.Write{
		"registered, and no lease taken": func(w *world) []dlq.Write { return []dlq.Write{registration(w, false)} },
		"leases taken, and no work begun": func(w *world) []dlq.Write {
			return []dlq.Write{registration(w, false), lease(w, "a", gone), lease(w, "b", gone), lease(w, Queue, gone)}
		},
		"leases taken, and the registration lost": func(w *world) []dlq.Write { return []dlq.Write{lease(w, "a", gone), lease(w, Queue, gone)} },
		"told to stop, and nothing released": func(w *world) []dlq.Write {
			return []dlq.Write{registration(w, true), lease(w, "a", gone), lease(w, "b", gone)}
		},
		"half released": func(w *world) []dlq.Write {
			return []dlq.Write{registration(w, true), lease(w, "a", ""), lease(w, "b", gone)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				a, b := w.start("A"), w.start("B")
				w.until("A and B share", func() bool { return w.shared(a, b) })
				w.pass(w.term)
				if _, err := w.store.Commit(context.Background(), left(w)); err != nil {
					t.Fatal(err)
				}
				w.pass(w.term / 2)
				w.until("A and B own all again", func() bool {
					for _, share := range append([]string{Queue}, w.shares...) {
						if d := w.doc(share); d.owner != "A" && d.owner != "B" {
							return false
						}
					}
					return w.shared(a, b)
				})
				for _, share := range w.shares {
					if a.lease(share) == nil && b.lease(share) == nil {
						w.until("the work of "+share+" goes on", func() bool { return a.lease(share) != nil || b.lease(share) != nil })
					}
				}
			})
		})
	}
}
