package lease

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// TestLostAnswers: a commit that was applied though its answer was lost is
// recognised by its nonce, whatever it was for.
func TestLostAnswers(t *testing.T) {
	t.Run("registration", func(t *testing.T) {
		bubble(t, func(_ *testing.T, w *world) {
			a := w.start("A", func(n *node, _ *Config) { n.client.faults.lose = 1 })
			w.until("A owns all", func() bool { return w.shared(a) })
		})
	})
	t.Run("taking", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			core, logs := observer.New(zap.InfoLevel)
			a := w.start("A", func(_ *node, c *Config) { c.Log = zap.New(core) })
			w.until("A is registered", a.keeper.Ready)
			a.client.with(func(f *faults) { f.lose = 1 })
			w.until("A owns all", func() bool { return w.shared(a) })
			for _, entry := range logs.FilterMessage("lease taken").All() {
				if from := entry.ContextMap()["from"]; from != "" {
					t.Errorf("taken from %v, whose lease would have run out, want from nobody", from)
				}
			}
			if took := time.Since(w.nodes[0].keeper.epoch); took > w.term/3 {
				t.Errorf("took %v, want it recognised long before the term is over", took)
			}
		})
	})
	t.Run("renewal", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			a := w.start("A")
			w.until("A owns all", func() bool { return w.shared(a) })
			before := w.doc("a").updated
			a.client.with(func(f *faults) { f.lose = 1 })
			w.pass(10 * w.term)
			if len(w.happened("A", "", "told")) > 0 || a.count(eventLapsed) > 0 {
				t.Error("A gave up what it owned")
			}
			if w.doc("a").updated.Equal(before) || a.client.now().lose > 0 {
				t.Error("no answer was lost")
			}
		})
	})
	t.Run("release", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			a := w.start("A")
			w.until("A owns all", func() bool { return w.shared(a) })
			a.client.with(func(f *faults) {
				f.commit = func(writes []dlq.Write) error { // of the release, not of the mark that comes before it
					if writes[0].Fields[fieldOwner] == "" {
						a.client.with(func(f *faults) { f.lose, f.commit = 1, nil })
					}
					return nil
				}
			})
			b := w.start("B")
			w.until("A and B share", func() bool { return w.shared(a, b) })
			if lost := a.count(eventLost); lost > 0 {
				t.Errorf("A lost %d leases that it had released", lost)
			}
		})
	})
}

// TestLapseAndRecover: an outage of less than a term makes leases invalid for
// its end, and nobody's Work is told.
func TestLapseAndRecover(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.start("A"), w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		w.forget()
		w.pass(w.term)
		had := a.owned()
		l := a.lease(had[0])
		a.client.with(func(f *faults) { f.down = true })
		w.until("the lease lapses", func() bool { return !l.Valid() })
		if age := w.server.now().Sub(w.doc(had[0]).updated); age > validFor(w.term)+100*time.Millisecond || age < validFor(w.term)-100*time.Millisecond {
			t.Errorf("lapsed %v after its last renewal, want %v", age, validFor(w.term))
		}
		if !a.keeper.Owns(had[0]) || a.keeper.Ready() {
			t.Error("while it has lapsed, the share is owned and the instance is not ready")
		}
		w.pass(2 * time.Second)
		tells := func() float64 { return testutil.ToFloat64(a.keeper.metrics.held.WithLabelValues(had[0])) }
		if tells() != 0 {
			t.Error("relay_lease_held counts a lease that has lapsed")
		}
		a.client.with(func(f *faults) { f.down = false })
		w.until("the lease is valid again", l.Valid)
		w.pass(2 * w.term)
		if told := w.happened("A", "", "told"); len(told) > 0 || !slices.Equal(a.owned(), had) || tells() != 1 {
			t.Errorf("A has %v of %v, was told %v, and tells %v of the first", a.owned(), had, told, tells())
		}
		if a.count(eventLapsed) != a.count(eventRecovered) || a.count(eventLapsed) < len(had) {
			t.Errorf("%d lapsed, %d recovered, want as many as A had", a.count(eventLapsed), a.count(eventRecovered))
		}
	})
}

// TestSlowAnswers: a lease is trusted from the moment at which its renewal was
// sent, not from the answer.
func TestSlowAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A", func(n *node, _ *Config) { n.client.latency = time.Second })
		w.until("A owns all", func() bool { return w.shared(a) })
		w.pass(w.term)
		l := a.lease("a")
		a.client.with(func(f *faults) { f.cut = true })
		w.until("the lease lapses", func() bool { return !l.Valid() })
		if age, want := w.server.now().Sub(w.doc("a").updated), validFor(w.term)-time.Second; age > want+100*time.Millisecond {
			t.Errorf("lapsed %v after the renewal was applied, want %v: it took a second to get there", age, want)
		}
	})
}

// TestSlowCommits: while each commit is applied and none is answered in time,
// leases are kept by what is read.
func TestSlowCommits(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.start("A"), w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		w.forget()
		had := a.owned()
		a.client.with(func(f *faults) { f.mute = true })
		w.pass(10 * w.term)
		if told := w.happened("A", "", "told"); len(told) > 0 || !slices.Equal(a.owned(), had) || a.count(eventLapsed) > 0 {
			t.Errorf("A has %v of %v, %d leases lapsed, and was told %v", a.owned(), had, a.count(eventLapsed), told)
		}
	})
}

// TestLapseAndLose: an outage of more than a term costs the leases. The Work is
// told that they are lost, and nothing is released.
func TestLapseAndLose(t *testing.T) {
	for name, fault := range map[string]func(*faults){
		"unavailable":       func(f *faults) { f.down = true },
		"stopped or cut":    func(f *faults) { f.cut = true }, // SIGSTOP looks like this from outside
		"commits come late": func(f *faults) { f.late = 40 * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				a, b := w.start("A"), w.start("B")
				w.until("A and B share", func() bool { return w.shared(a, b) })
				had := a.owned()
				l, released := a.lease(had[0]), a.count(eventReleased)
				a.client.with(fault)
				w.until("B owns all", func() bool { return w.shared(b) })
				a.client.with(func(f *faults) { *f = faults{} })
				w.until("A and B share again", func() bool { return w.shared(a, b) })
				for _, share := range had {
					if told := w.happened("A", share, "told"); len(told) == 0 || !errors.Is(told[0].cause, ErrLost) {
						t.Errorf("A was told of %s: %v, want %v", share, told, ErrLost)
					}
				}
				if released = a.count(eventReleased) - released; l.Valid() || released > 0 || a.count(eventLost) < len(had) {
					t.Errorf("lost lease valid: %v, %d released, %d lost", l.Valid(), released, a.count(eventLost))
				}
			})
		})
	}
}

// TestWhatIsLostIsNotValid: a lease that another has is not valid for a moment
// longer, though its Work is still coming to its end.
func TestWhatIsLostIsNotValid(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A", func(n *node, _ *Config) { n.drain = time.Second })
		w.until("A owns all", func() bool { return w.shared(a) && a.works() })
		share := w.shares[0]
		l := a.lease(share)
		taken := dlq.Write{
			Collection: contracts.CollectionLeases, ID: share, Op: dlq.OpUpdate, Fields: map[string]any{fieldOwner: "B", fieldNonce: "B.1"},
		}
		if _, err := w.server.Commit(t.Context(), []dlq.Write{taken}); err != nil {
			t.Fatal(err)
		}
		w.until("A is told", func() bool { return len(w.happened("A", share, "told")) > 0 })
		if l.Valid() {
			t.Error("A begins deliveries of what B owns")
		}
	})
}

// TestLateCommits: renewals that are applied after they were given up are ours
// all the same, and count from the moment at which they were sent.
func TestLateCommits(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.start("A"), w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		w.forget()
		had := a.owned()
		a.client.with(func(f *faults) { f.late = 4 * time.Second }) // the call is given up after 3
		w.pass(4 * w.term)
		if told := w.happened("A", "", "told"); len(told) > 0 || !slices.Equal(a.owned(), had) {
			t.Errorf("A has %v of %v, and was told %v", a.owned(), had, told)
		}
	})
}

// TestServerClockJumps: the server's clock is years away from the local ones,
// and jumps by as much as the margin between validity and term bears.
func TestServerClockJumps(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.server.jump(-50000 * time.Hour)
		a, b := w.start("A"), w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		had := a.owned()
		for i := range 20 {
			w.server.jump(w.term / 3 * time.Duration(1-i%2*2))
			w.pass(w.term / 2)
		}
		if !slices.Equal(a.owned(), had) || !w.shared(a, b) {
			t.Errorf("A has %v of %v", a.owned(), had)
		}
		a.crash()
		w.until("B owns all", func() bool { return w.shared(b) })
	})
}

// TestDeafListener: without a bell a look now and then finds what to do, and a
// listener that missed something is replaced.
func TestDeafListener(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.start("A"), w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		had, opened := a.owned(), b.client.opened()
		b.client.with(func(f *faults) { f.deaf = true })
		a.stop()
		w.until("B owns all", func() bool { return w.shared(b) })
		if stall := w.last("B", had[0], "begins").at.Sub(w.last("A", had[0], "ends").at); stall > w.term/renewEvery+time.Second {
			t.Errorf("B went on after %v, want a third of a term", stall)
		}
		w.until("the listener is replaced", func() bool { return b.client.opened() > opened })
	})
}

// TestOneRefusedDocument: a lease that cannot be taken or renewed stands in no
// other's way.
func TestOneRefusedDocument(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A", func(n *node, _ *Config) {
			n.client.faults.commit = func(writes []dlq.Write) error {
				if slices.ContainsFunc(writes, func(w dlq.Write) bool { return w.ID == "c" }) {
					return &fakeError{"InvalidArgument", true}
				}
				return nil
			}
		})
		w.until("A owns the others", func() bool { return len(a.owned()) == len(w.shares)-1 })
		a.client.with(func(f *faults) { f.commit = nil })
		w.until("A owns all", func() bool { return w.shared(a) })
		a.client.with(func(f *faults) {
			f.commit = func(writes []dlq.Write) error {
				if slices.ContainsFunc(writes, func(w dlq.Write) bool { return w.ID == "d" }) {
					return &fakeError{"InvalidArgument", true}
				}
				return nil
			}
		})
		w.pass(w.term)
		for _, share := range w.shares {
			if valid := a.lease(share).Valid(); valid != (share != "d") {
				t.Errorf("lease of %s is valid: %v", share, valid)
			}
		}
	})
}

// TestDeletedDocuments: whatever somebody deletes by hand comes back.
func TestDeletedDocuments(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.start("A"), w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		var writes []dlq.Write
		for _, d := range w.all(contracts.CollectionLeases) {
			writes = append(writes, dlq.Write{Collection: contracts.CollectionLeases, ID: d.ID, Op: dlq.OpDelete})
		}
		if _, err := w.server.Commit(t.Context(), writes); err != nil {
			t.Fatal(err)
		}
		w.pass(w.term)
		w.until("A and B share again", func() bool { return w.shared(a, b) && a.keeper.Ready() && b.keeper.Ready() })
	})
}
