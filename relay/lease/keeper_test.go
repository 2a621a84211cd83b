package lease

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// bubble runs a test whose clock is the bubble's.
func bubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newBubble(t, "a", "b", "c", "d", "e", "f")) })
}

func TestOneOwnsAll(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A")
		w.until("A owns all", func() bool { return w.shared(a) && a.keeper.Owns(Queue) && a.keeper.Ready() })
		w.pass(10 * w.term)
		if !w.shared(a) || len(w.happened("A", "", "told")) > 0 {
			t.Error("A did not keep what it owned")
		}
	})
}

func TestSharesAreRebalanced(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A")
		w.until("A owns all", func() bool { return w.shared(a) })
		b := w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		c := w.start("C")
		w.until("all three share", func() bool { return w.shared(a, b, c) })
		for _, h := range w.happened("", "", "told") {
			if !errors.Is(h.cause, ErrHandOver) {
				t.Errorf("%s was told to end %s: %v", h.node, h.share, h.cause)
			}
		}
		if n := len(w.happened("", "", "begins")); n != 6+1+3+2 {
			t.Errorf("%d beginnings, want 12: no share moves without need", n)
		}
		a.stop()
		w.until("B and C share", func() bool { return w.shared(b, c) })
	})
}

// TestTwoBeginTogether: instances that start at one moment race for all shares.
func TestTwoBeginTogether(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b, c := w.start("A"), w.start("B"), w.start("C")
		w.until("all three share", func() bool { return w.shared(a, b, c) })
		settled := time.Now()
		w.pass(10 * w.term)
		for _, h := range w.happened("", "", "told") {
			if h.at.After(settled) {
				t.Errorf("%s was told to end %s though nothing changed", h.node, h.share)
			}
		}
	})
}

// TestCleanStop: what a stopped instance had goes on in the other at once, and
// the instance leaves nothing behind.
func TestCleanStop(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.start("A"), w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		had := a.owned()
		a.stop()
		w.until("B owns all", func() bool { return w.shared(b) && b.keeper.Owns(Queue) })
		for _, share := range had {
			told, ended, begun := w.last("A", share, "told"), w.last("A", share, "ends"), w.last("B", share, "begins")
			if !errors.Is(told.cause, ErrStopping) {
				t.Errorf("A was told to end %s: %v, want %v", share, told.cause, ErrStopping)
			}
			if stall := begun.at.Sub(ended.at); stall < 0 || stall > 100*time.Millisecond {
				t.Errorf("%s went on %v after its end, want at most 100ms", share, stall)
			}
		}
		if docs := w.all(contracts.CollectionLeases); len(docs) != len(w.shares)+3 {
			t.Errorf("%d documents, want a lease for each share and for the queue, B's registration and the bell", len(docs))
		}
	})
}

// TestCleanStopShareByShare: what is through goes on in the other while the Work
// of another share still comes to its end.
func TestCleanStopShareByShare(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		slow := ""
		a := w.start("A", func(n *node, _ *Config) {
			n.work = func(ctx context.Context, l *Lease) []dlq.Write {
				<-ctx.Done()
				if l.Share() == slow {
					time.Sleep(4 * time.Second)
				}
				return nil
			}
		})
		b := w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		had := a.owned()
		slow = had[0]
		a.cancel()
		w.pass(100 * time.Millisecond)
		if got := b.owned(); len(got) != len(w.shares)-1 || slices.Contains(got, slow) {
			t.Errorf("B owns %v, want all but %s", got, slow)
		}
		w.until("B owns all", func() bool { return w.shared(b) })
		if w.last("B", slow, "begins").at.Before(w.last("A", slow, "ends").at) {
			t.Errorf("B began %s before A had ended", slow)
		}
	})
}

// TestSlowReads: what a look shows that began before a share was taken or
// released is not acted upon.
func TestSlowReads(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		slow := func(n *node, _ *Config) { n.client.latency = 400 * time.Millisecond }
		a := w.start("A", slow)
		w.until("A owns all", func() bool { return w.shared(a) })
		b := w.start("B", slow)
		w.until("A and B share", func() bool { return w.shared(a, b) })
		w.pass(w.term)
		if n := a.count(eventRefused) + b.count(eventRefused); n > 0 {
			t.Errorf("%d commits refused, want none", n)
		}
	})
}

// TestCrash: what a crashed instance had is taken when its term is over by the
// server's clock, and not before, whatever the local clocks say.
func TestCrash(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A")
		w.pass(2300 * time.Millisecond) // so that no poll of B comes at the right moment by itself
		b := w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		w.pass(7 * time.Second)
		had := a.owned()
		a.crash()
		before := make(map[string]leaseDoc)
		for _, share := range had {
			before[share] = w.doc(share)
		}
		w.until("B owns all", func() bool { return w.shared(b) })
		for _, share := range had {
			after := w.doc(share).since.Sub(before[share].updated)
			if after < w.term || after > w.term+time.Second {
				t.Errorf("%s was taken %v after it was renewed, want within a second of %v", share, after, w.term)
			}
		}
	})
}

// TestTermsDiffer: a lease is judged by its owner's term.
func TestTermsDiffer(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A", func(_ *node, c *Config) { c.Term = 40 * time.Second })
		w.until("A owns all", func() bool { return w.shared(a) })
		b := w.start("B", func(_ *node, c *Config) { c.Term = 2 * time.Second })
		w.until("A and B share", func() bool { return w.shared(a, b) })
		had := a.owned()
		updated := w.doc(had[0]).updated
		a.crash()
		w.until("B owns all", func() bool { return w.shared(b) })
		if after := w.doc(had[0]).since.Sub(updated); after < 40*time.Second || after > 41*time.Second {
			t.Errorf("taken after %v, want within a second of 40s", after)
		}
	})
}

// TestDifferentCatalogs: a share that only the newer of two instances knows is
// owned by that one.
func TestDifferentCatalogs(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A")
		w.until("A owns all", func() bool { return w.shared(a) })
		b := w.start("B", func(_ *node, c *Config) { c.Shares = append(c.Shares, "new1", "new2", "new3") })
		w.until("B owns what is new", func() bool { return b.keeper.Owns("new1") && b.keeper.Owns("new2") && b.keeper.Owns("new3") })
		w.until("the rest is owned", func() bool { return len(a.owned())+len(b.owned()) == len(w.shares) })
	})
}

// TestSameName: of two live instances of one name, the later takes a longer one,
// and both work.
func TestSameName(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A")
		w.until("A owns all", func() bool { return w.shared(a) })
		b := w.start("A")
		w.until("both share", func() bool { return w.shared(a, b) })
		if first, later := a.keeper.goesBy(), b.keeper.goesBy(); first != "A" || later == "A" {
			t.Errorf("the first goes by %q and the later by %q, want the later to take a longer name", first, later)
		}
		a.stop()
		w.until("the other owns all", func() bool { return w.shared(b) })
		again := w.start("A")
		w.until("a third of that name shares", func() bool { return w.shared(b, again) })
		if !w.read("instance.A").Exists() {
			t.Error("the third does not go by the name, which is free again")
		}
	})
}

// TestRestartAfterCrash: what an earlier run of the same name left behind is no
// obstacle, and its leases are not taken for the new run's.
func TestRestartAfterCrash(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		first := w.start("A")
		w.until("A owns all", func() bool { return w.shared(first) })
		updated := w.doc("a").updated
		first.crash()
		again := w.start("A")
		w.until("it owns all again", func() bool { return w.shared(again) })
		if after := w.doc("a").since.Sub(updated); after < w.term {
			t.Errorf("taken after %v, want %v at least: the earlier run may be at work still", after, w.term)
		}
	})
}

// TestDeadRegistrationsAreDeleted by the owner of the queue's share.
func TestDeadRegistrationsAreDeleted(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.start("A"), w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		registered := func() bool { return w.read("instance.A").Exists() }
		a.crash()
		w.pass(9 * w.term)
		if !registered() {
			t.Fatal("A's registration was deleted too early")
		}
		w.until("A's registration is deleted", func() bool { return !registered() })
	})
}

// TestARegistrationThatComesBackIsKept: whoever deletes it has read it before.
func TestARegistrationThatComesBackIsKept(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.start("A"), w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		back := dlq.Write{
			Collection: contracts.CollectionLeases, ID: "instance.A", Op: dlq.OpUpdate, Fields: map[string]any{fieldNonce: "A.1"},
		}
		var came atomic.Bool
		b.client.with(func(f *faults) {
			f.commit = func(writes []dlq.Write) error {
				deletes := slices.ContainsFunc(writes, func(each dlq.Write) bool { return each.ID == back.ID && each.Op == dlq.OpDelete })
				if deletes && !came.Swap(true) {
					if _, err := w.server.Commit(t.Context(), []dlq.Write{back}); err != nil {
						t.Error(err)
					}
				}
				return nil
			}
		})
		a.crash()
		w.pass(9 * w.term)
		w.until("A is back when B deletes its registration", came.Load)
		w.pass(w.term / 10)
		if !w.read(back.ID).Exists() {
			t.Error("it is deleted")
		}
	})
}

func TestHolders(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A")
		if got := a.keeper.Holders()[0]; got != (Holder{Share: "a"}) {
			t.Errorf("before anything is known: %+v", got)
		}
		w.until("A owns all", func() bool { return w.shared(a) })
		b := w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		w.pass(w.term)
		for i, share := range []string{"a", "b", "c", "d", "e", "f", Queue} {
			owner := map[bool]string{true: "A", false: "B"}[a.keeper.Owns(share)]
			for _, n := range w.nodes {
				got := n.keeper.Holders()[i]
				if got.Age < 0 || got.Age > w.term*2/3 {
					t.Errorf("%s says that %s was renewed %v ago", n.name, share, got.Age)
				}
				got.Age = 0
				want := Holder{Share: share, Owner: owner, Since: got.Since, Term: w.term, Mine: n.name == owner, Valid: true}
				if got != want || !got.Since.Equal(w.doc(share).since) {
					t.Errorf("%s says %+v, want %+v", n.name, got, want)
				}
			}
		}
		had := slices.Index(w.shares, a.owned()[0])
		a.client.with(func(f *faults) { f.cut = true })
		w.pass(validFor(w.term))
		if h := a.keeper.Holders()[had]; h.Valid || !h.Mine || h.Owner != "A" || h.Age < validFor(w.term) {
			t.Errorf("A, cut off, says %+v", h)
		}
		w.pass(w.term)
		if h := b.keeper.Holders()[had]; h.Owner != "B" || !h.Valid || !h.Mine {
			t.Errorf("B says %+v", h)
		}
	})
}

// TestNote: what an owner says of a share reaches the others with its renewals,
// and goes with the owner.
func TestNote(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		says := func(n *node, c *Config) { c.Note = func(share string) string { return n.name + " has " + share } }
		a, b := w.start("A", says), w.start("B", says)
		w.until("A and B share", func() bool { return w.shared(a, b) })
		share := a.owned()[0]
		at := slices.Index(w.shares, share)
		w.until("B hears what A says", func() bool { return b.keeper.Holders()[at].Note == "A has "+share })
		if h := a.keeper.Holders()[at]; h.Note != "" {
			t.Errorf("A tells itself %q", h.Note)
		}
		c := w.start("C")
		w.until("all three share", func() bool { return w.shared(a, b, c) })
		for i, h := range b.keeper.Holders() {
			if h.Owner == "C" && h.Note != "" {
				t.Errorf("C, which says nothing, is said to say %q of %s", h.Note, w.shares[min(i, len(w.shares)-1)])
			}
		}
	})
}

func TestConfigIsValidated(t *testing.T) {
	for name, c := range map[string]Config{
		"no store":       {Instance: "A"},
		"no instance":    {},
		"slash":          {Instance: "A/B"},
		"short term":     {Instance: "A", Term: time.Millisecond},
		"long term":      {Instance: "A", Term: 2 * time.Hour},
		"budget":         {Instance: "A", StopBudget: -1},
		"twice":          {Instance: "A", Shares: []string{"a", "a"}},
		"queue":          {Instance: "A", Shares: []string{Queue}},
		"a registration": {Instance: "A", Shares: []string{"instance.A"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "no store" {
				c.Store, c.Work = &faulty{}, (&node{}).doWork
			}
			if _, err := New(c); err == nil {
				t.Error("accepted")
			}
		})
	}
}
