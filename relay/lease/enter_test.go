package lease

import (
	"context"
	"testing"
	"time"

	"outboxrelay/dlq"
)

// TestEntersInOneCommit: who starts where nobody is registers and takes everything
// after two calls, a look and a commit.
func TestEntersInOneCommit(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		began := time.Now()
		a := w.start("A")
		w.until("A owns all", func() bool { return w.shared(a) && a.works() })
		if took, call := w.last("A", "a", "begins").at.Sub(began), 2*a.client.latency; took > 2*call {
			t.Errorf("A begins after %v, want two calls of %v", took, call)
		}
		w.pass(w.term)
		if me := decodeRegistration(w.read(registrationPrefix+"A"), w.term); !me.since.Equal(w.doc("a").since) || !me.since.Equal(w.doc(Queue).since) {
			t.Errorf("registered at %v, leases taken at %v, want one commit", me.since, w.doc("a").since)
		}
		if a.client.opened() != 1 {
			t.Errorf("%d listeners were opened, want one: it heard of the commit", a.client.opened())
		}
	})
}

// TestTakesNoPartBeforeItIsReady: nobody hands anything over to an instance that may not own
// it yet, and what it saw before that does not count any more once it may.
func TestTakesNoPartBeforeItIsReady(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ready := make(chan struct{})
		a := w.start("A", func(_ *node, c *Config) { c.Ready = ready })
		w.pass(time.Second)
		b := w.start("B", func(_ *node, c *Config) { c.Shares = []string{"x"} })
		w.pass(w.term)
		if !b.keeper.Owns("x") || !b.keeper.Owns(Queue) || len(w.happened("B", "", "told")) > 0 {
			t.Error("B does not own what it can while A waits")
		}
		if w.read(registrationPrefix+"A").Exists() || a.keeper.Ready() || len(a.owned()) > 0 {
			t.Error("A takes part before it is ready")
		}
		b.stop()
		close(ready)
		w.until("A owns all", func() bool { return w.shared(a) && a.works() })
		if idle := a.lease("a").Idle(); idle > time.Second {
			t.Errorf("nobody had owned anything for %v, says the lease; B had a moment ago", idle)
		}
	})
}

// TestStopsBeforeItIsReady: it leaves nothing behind.
func TestStopsBeforeItIsReady(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A", func(_ *node, c *Config) { c.Ready = make(chan struct{}) })
		w.pass(time.Second)
		began := time.Now()
		a.stop()
		if took := time.Since(began); took > 0 {
			t.Errorf("the stop took %v, want none: there is nothing to do", took)
		}
		if w.read(registrationPrefix + "A").Exists() {
			t.Error("it registered as it stopped")
		}
	})
}

// TestEntersInVain: whatever becomes of the first look and the first commit, the instance
// owns everything soon.
func TestEntersInVain(t *testing.T) {
	for name, fault := range map[string]func(*faults){
		"answer lost":  func(f *faults) { f.lose = 1 },
		"applied late": func(f *faults) { f.late = 4 * time.Second }, // the call is given up after 3
		"down":         func(f *faults) { f.down = true },
		"cut":          func(f *faults) { f.cut = true },
		"refused": func(f *faults) {
			refused := false
			f.commit = func([]dlq.Write) error {
				if refused {
					return nil
				}
				refused = true
				return &fakeError{"FailedPrecondition", true}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				a := w.start("A", func(n *node, _ *Config) { n.client.with(fault) })
				w.pass(3500 * time.Millisecond)
				a.client.with(func(f *faults) { f.late, f.down, f.cut = 0, false, false })
				mended := time.Now()
				w.until("A owns all", func() bool { return w.shared(a) && a.works() && a.keeper.Owns(Queue) && a.keeper.Ready() })
				if took := time.Since(mended); took > w.term/3 {
					t.Errorf("it took %v, want %v at most", took, w.term/3)
				}
				w.pass(2 * w.term)
				if told := w.happened("A", "", "told"); len(told) > 0 {
					t.Errorf("A was told to end: %v", told)
				}
			})
		})
	}
}

// TestNewcomerIsPlannedLast: the plan that a newcomer makes of itself is that of everybody
// who sees it registered.
func TestNewcomerIsPlannedLast(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	k, err := New(Config{Store: newFakeServer(), Instance: "A", Shares: []string{"a", "b"}, Work: func(context.Context, *Lease) []dlq.Write { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	there := registration{document: document{since: at, updated: at, read: at, term: time.Minute}, instance: "B", shares: []string{"a", "b"}}
	v := view{instances: []registration{there}}
	me := k.newcomer(v)
	if got := plan(append(v.members(), me), nil); got["a"] != "B" || got["b"] != "A" || got[Queue] != "B" {
		t.Errorf("planned %v, want B first, who was there before", got)
	}
}
