package lease

import (
	"errors"
	"slices"
	"testing"
	"time"

	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// both are the tests that run in real time on the embedded server and on
// Google's emulator. What a fake might get wrong is what they are for: update
// and read times, preconditions, listeners.
var both = []struct {
	name string
	run  func(*testing.T, *world)
}{
	{"shares are rebalanced and handed over", testRealHandOver},
	{"a crashed owner's shares are taken after its term", testRealCrash},
	{"lost answers are recognised", testRealLostAnswers},
	{"leases lapse and recover", testRealRecover},
	{"a paused owner loses its leases", testRealPause},
}

func TestOnFirestore(t *testing.T) {
	thorough.EndToEnd(t)
	for _, test := range both {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // they wait for terms to pass
			_, address := firestoretest.Start(t, localfirestore.Options{})
			test.run(t, realWorld(t, address))
		})
	}
}

func TestGoogleOnFirestore(t *testing.T) {
	address := firestoretest.OnGoogle(t)
	for _, test := range both {
		t.Run(test.name, func(t *testing.T) { test.run(t, realWorld(t, address)) })
	}
}

func realWorld(t *testing.T, address string) *world {
	t.Helper()
	return newWorld(t, dlqfirestore.New(firestoretest.Client(t, address)), 3*time.Second, "a", "b", "c", "d")
}

func testRealHandOver(t *testing.T, w *world) {
	w.term = 30 * time.Second // for a machine that stands still: no lease is to lapse
	a := w.start("A", func(n *node, _ *Config) {
		n.last = func(share string) []dlq.Write {
			return []dlq.Write{{Collection: "box", ID: "canary." + share, Op: dlq.OpDelete}}
		}
	})
	w.until("A owns all", func() bool { return w.shared(a) })
	b := w.start("B")
	w.until("A and B share", func() bool { return w.shared(a, b) })
	had := a.owned()
	a.stop()
	w.until("B owns all and works", func() bool { return w.shared(b) && b.keeper.Owns(Queue) && b.works() })
	for _, share := range had {
		if told := w.last("A", share, "told"); !errors.Is(told.cause, ErrStopping) {
			t.Errorf("A was told to end %s: %v, want %v", share, told.cause, ErrStopping)
		}
		if w.last("B", share, "begins").at.Before(w.last("A", share, "ends").at) {
			t.Errorf("B began %s before A had ended", share)
		}
	}
	if a.count(eventReleased) == 0 || b.count(eventLost)+a.count(eventLost) > 0 || a.count(eventLapsed) > 0 {
		t.Errorf("%d released, %d lost and lapsed", a.count(eventReleased), b.count(eventLost)+a.count(eventLost)+a.count(eventLapsed))
	}
	if n := len(w.all("relay-leases")); n != len(w.shares)+3 {
		t.Errorf("%d documents, want a lease for each share and for the queue, B's registration and the bell", n)
	}
}

func testRealCrash(t *testing.T, w *world) {
	a, b := w.start("A"), w.start("B")
	w.until("A and B share", func() bool { return w.shared(a, b) })
	had := a.owned()
	a.crash()
	before := make(map[string]leaseDoc)
	for _, share := range had {
		before[share] = w.doc(share)
	}
	w.until("B owns all", func() bool { return w.shared(b) })
	for _, share := range had {
		if after := w.doc(share).since.Sub(before[share].updated); after < w.term { // both by the server's clock
			t.Errorf("%s was taken %v after it was renewed, want %v at least", share, after, w.term)
		}
	}
}

func testRealLostAnswers(t *testing.T, w *world) {
	a := w.start("A", func(n *node, _ *Config) { n.client.faults.lose = 1 })
	w.until("A is registered", a.keeper.Ready)
	a.client.with(func(f *faults) { f.lose = 1 })
	w.until("A owns all", func() bool { return w.shared(a) })
	a.client.with(func(f *faults) { f.lose = 2 })
	w.until("the answers are lost", func() bool { return a.client.now().lose == 0 })
	renewed := a.count(eventRenewed)
	w.until("leases are renewed again", func() bool { return a.count(eventRenewed) > renewed+len(w.shares) })
	if told := w.happened("A", "", "told"); len(told) > 0 || a.count(eventLost) > 0 {
		t.Errorf("A was told to end %v", told)
	}
}

func testRealRecover(t *testing.T, w *world) {
	a := w.start("A")
	w.until("A owns all and works", func() bool { return w.shared(a) && a.works() })
	l := a.lease("a")
	a.client.with(func(f *faults) { f.down = true })
	w.until("the lease lapses", func() bool { return !l.Valid() })
	a.client.with(func(f *faults) { f.down = false })
	w.until("the lease is valid again", l.Valid)
	w.until("all of them are", func() bool { return a.count(eventRecovered) == a.count(eventLapsed) })
	if told := w.happened("A", "", "told"); len(told) > 0 {
		t.Errorf("A was told to end %v", told)
	}
}

func testRealPause(t *testing.T, w *world) {
	a, b := w.start("A"), w.start("B")
	w.until("A and B share", func() bool { return w.shared(a, b) })
	had := a.owned()
	a.client.with(func(f *faults) { f.cut = true })
	w.until("B owns all", func() bool { return w.shared(b) })
	a.client.with(func(f *faults) { f.cut = false })
	w.until("A and B share again", func() bool { return w.shared(a, b) })
	for _, share := range had {
		told := w.happened("A", share, "told")
		if !slices.ContainsFunc(told, func(h happening) bool { return errors.Is(h.cause, ErrLost) }) {
			t.Errorf("A was told of %s: %v, want %v", share, told, ErrLost)
		}
	}
}
