package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	"outboxrelay/dlq"
)

// TestWorkDrains: the lease is renewed while the Work that was told to hand over
// comes to its end, and the next one begins after that.
func TestWorkDrains(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A", func(n *node, c *Config) {
			n.drain, c.StopBudget = 2*w.term, 3*w.term
		})
		w.until("A owns all", func() bool { return w.shared(a) })
		b := w.start("B")
		w.until("A hands over", func() bool { return len(a.owned()) == 3 })
		for _, share := range w.shares {
			if a.keeper.Owns(share) {
				continue
			}
			w.pass(w.term)
			if !a.lease(share).Valid() {
				t.Errorf("lease of %s is not valid while its Work drains", share)
			}
			break
		}
		w.until("A and B share", func() bool { return w.shared(a, b) })
		for _, share := range b.owned() {
			if w.last("B", share, "begins").at.Before(w.last("A", share, "ends").at) {
				t.Errorf("B began %s before A had ended", share)
			}
		}
	})
}

// TestWorkThatDoesNotEnd: beyond the budget its lease is left to run out, and is
// taken by the other as after a crash. Its end, later, harms nobody.
func TestWorkThatDoesNotEnd(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A", func(n *node, _ *Config) { n.drain = 4 * w.term })
		w.until("A owns all", func() bool { return w.shared(a) })
		b := w.start("B")
		w.until("A and B share", func() bool { return w.shared(a, b) })
		for _, share := range b.owned() {
			if !w.last("B", share, "begins").at.Before(w.last("A", share, "told").at.Add(DefaultStopBudget + 2*w.term)) {
				t.Errorf("B began %s long after A's lease had run out", share)
			}
		}
		w.pass(5 * w.term)
		if !w.shared(a, b) || a.count(eventReleased) > 0 {
			t.Errorf("A released %d leases that were not its own any more", a.count(eventReleased))
		}
	})
}

// TestStopIsBounded: neither Work that hangs nor a Firestore that is out of
// reach holds up the end for longer than the budget.
func TestStopIsBounded(t *testing.T) {
	for name, fault := range map[string]func(*node){
		"work hangs":   func(n *node) { n.linger(time.Hour) },
		"out of reach": func(n *node) { n.client.with(func(f *faults) { f.cut = true }) },
		"a call is under way": func(n *node) {
			n.client.with(func(f *faults) { f.cut = true })
			time.Sleep(n.w.term/renewEvery + time.Millisecond)
		},
		"many calls of a turn": func(n *node) {
			n.client.with(func(f *faults) {
				f.mute = true
				f.commit = func(writes []dlq.Write) error {
					if len(writes) > 1 {
						return &fakeError{"FailedPrecondition", true} // each is renewed alone then
					}
					return nil
				}
			})
			time.Sleep(n.w.term/renewEvery + time.Millisecond)
		},
		"unavailable":             func(n *node) { n.client.with(func(f *faults) { f.down = true }) },
		"work hangs, unavailable": func(n *node) { n.linger(time.Hour); n.client.with(func(f *faults) { f.down = true }) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				a := w.start("A")
				w.until("A owns all", func() bool { return w.shared(a) })
				fault(a)
				began := time.Now()
				a.stop()
				if took := time.Since(began); took > DefaultStopBudget {
					t.Errorf("stopped after %v, want %v at most", took, DefaultStopBudget)
				}
				if w.doc("a").owner != "A" {
					t.Error("the lease was released")
				}
			})
		})
	}
}

// TestWorkEndsByItself: by returning or by a panic. It is released, and begun
// again after a pause.
func TestWorkEndsByItself(t *testing.T) {
	for name, work := range map[string]func(context.Context, *Lease) []dlq.Write{
		"returns": func(context.Context, *Lease) []dlq.Write { return nil },
		"panics":  func(context.Context, *Lease) []dlq.Write { panic("fault") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.shares = []string{"a"}
				a := w.start("A", func(n *node, _ *Config) { n.work = work })
				w.until("it began twice", func() bool { return len(w.happened("A", "a", "begins")) == 2 })
				if pause := w.last("A", "a", "begins").at.Sub(w.happened("A", "a", "ends")[0].at); pause < w.term/renewEvery {
					t.Errorf("began again after %v, want a third of a term", pause)
				}
				a.mu.Lock()
				a.work = nil
				a.mu.Unlock()
				w.until("it began again", func() bool { return len(w.happened("A", "a", "begins")) == 3 })
				w.pass(w.term)
				if !a.keeper.Owns("a") {
					t.Error("A does not own what works again")
				}
			})
		})
	}
}

// TestReleaseTakesWritesAlong: what Work gives is written in the release's
// commit, and left out where it stands in its way.
func TestReleaseTakesWritesAlong(t *testing.T) {
	for name, last := range map[string]dlq.Write{
		"applied": {Collection: "box", ID: "canary", Op: dlq.OpDelete},
		"refused": {Collection: "box", ID: "gone", Op: dlq.OpUpdate, Fields: map[string]any{"x": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				if _, err := w.server.Commit(t.Context(), []dlq.Write{{Collection: "box", ID: "canary", Op: dlq.OpSet}}); err != nil {
					t.Fatal(err)
				}
				a := w.start("A", func(n *node, _ *Config) {
					n.last = func(share string) []dlq.Write {
						if share == "a" {
							return []dlq.Write{last}
						}
						return nil
					}
				})
				w.until("A owns all", func() bool { return w.shared(a) })
				began := time.Now()
				a.stop()
				if took := time.Since(began); took > time.Second {
					t.Errorf("stopped after %v", took)
				}
				for _, share := range w.shares {
					if w.doc(share).owner != "" {
						t.Errorf("%s is owned by %q", share, w.doc(share).owner)
					}
				}
				if there := len(w.all("box")) > 0; there != (name == "refused") {
					t.Errorf("canary is there: %v", there)
				}
			})
		})
	}
}

// TestCauses: Work learns why it ends.
func TestCauses(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := w.start("A")
		w.until("A owns all", func() bool { return w.shared(a) })
		a.cancel()
		w.until("all Work is told", func() bool { return len(w.happened("A", "", "told")) == len(w.shares)+1 })
		for _, h := range w.happened("A", "", "told") {
			if !errors.Is(h.cause, ErrStopping) {
				t.Errorf("%s was told %v, want %v", h.share, h.cause, ErrStopping)
			}
		}
	})
}
