package publisher

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestPace(t *testing.T) {
	poll := 100 * time.Millisecond
	fresh := func() *pace {
		p := newPace(Options{Batch: 10, Poll: poll, RetryBase: time.Second, RetryMax: 10 * time.Second})
		p.failures.random = func() float64 { return 1 }
		return p
	}
	t.Run("a full batch goes on at once", func(t *testing.T) {
		if wait, _ := fresh().next(report{claimed: 10, published: 10, seen: 40, window: 40, batch: 10}); wait != 0 {
			t.Errorf("wait is %v", wait)
		}
	})
	t.Run("an empty table is polled", func(t *testing.T) {
		wait, awake := fresh().next(report{window: 40, batch: 10})
		if wait < poll*3/4 || wait > poll*5/4 || !awake {
			t.Errorf("wait is %v, awake is %v", wait, awake)
		}
	})
	t.Run("what others have is looked past", func(t *testing.T) {
		p := fresh()
		for range 3 {
			if wait, _ := p.next(report{claimed: 1, seen: p.window, window: p.window, batch: 10}); wait != 0 {
				t.Errorf("wait is %v", wait)
			}
		}
		if p.window != 40*64 {
			t.Errorf("window is %d", p.window)
		}
		for range 6 * narrowAfter {
			p.next(report{claimed: 10, published: 10, seen: p.window, window: p.window, batch: 10})
		}
		if p.window != 40 {
			t.Errorf("window is %d after full batches", p.window)
		}
	})
	t.Run("an outage backs off up to its bound", func(t *testing.T) {
		p := fresh()
		var waits []time.Duration
		for i := range 6 {
			r := report{outage: true}
			if i%2 == 1 {
				r = report{err: errors.New("gone")}
			}
			wait, awake := p.next(r)
			if awake {
				t.Error("a notification cuts the wait short")
			}
			waits = append(waits, wait/time.Second)
		}
		if want := []time.Duration{1, 2, 4, 8, 10, 10}; !slices.Equal(waits, want) {
			t.Errorf("waits are %v s, want %v", waits, want)
		}
		p.next(report{})
		if wait, _ := p.next(report{outage: true}); wait != time.Second {
			t.Errorf("after its end another begins with %v", wait)
		}
	})
}

func TestHoldsEnd(t *testing.T) {
	h, now := holds{}, time.Unix(1000, 0)
	if _, ok := h.next(now); ok || len(h.at(now)) != 0 {
		t.Error("nothing is held, and something is")
	}
	a, b := aggregate{"store", uuid.UUID{1}}, aggregate{"ad", uuid.UUID{1}}
	h.hold(a, now.Add(2*time.Second))
	h.hold(b, now.Add(time.Second))
	if wait, ok := h.next(now); !ok || wait != time.Second {
		t.Errorf("next is %v, %v", wait, ok)
	}
	if got := h.at(now.Add(time.Second)); !slices.Equal(got, []string{a.key()}) {
		t.Errorf("held are %v", got)
	}
	if got := h.at(now.Add(time.Minute)); len(got) != 0 || len(h) != 0 {
		t.Errorf("held are %v", got)
	}
}
