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
		return newPace(10, poll, backoff{base: time.Second, limit: 10 * time.Second, random: func() float64 { return 1 }})
	}
	t.Run("a full batch goes on at once", func(t *testing.T) {
		if wait, _ := fresh().next(report{claimed: 10, published: 10, more: true, batch: 10}); wait != 0 {
			t.Errorf("wait is %v", wait)
		}
	})
	t.Run("an empty table is polled", func(t *testing.T) {
		wait, awake := fresh().next(report{batch: 10})
		if wait < poll*3/4 || wait > poll*5/4 || !awake {
			t.Errorf("wait is %v, awake is %v", wait, awake)
		}
	})
	t.Run("what cannot be marked is published again ever more rarely", func(t *testing.T) {
		p := fresh()
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second} {
			if wait, awake := p.next(report{claimed: 4, published: 4, batch: 10, unmarked: true, err: errors.New("no space left")}); wait != want || awake {
				t.Errorf("wait is %v, awake is %v, want %v", wait, awake, want)
			}
		}
		p.next(report{claimed: 4, published: 4, marked: true, sight: 4, batch: 10})
		if p.row != 0 {
			t.Errorf("a round that marked leaves %d failures in a row", p.row)
		}
	})
	t.Run("that others have what waits says nothing of the marks", func(t *testing.T) {
		p := fresh()
		failed := report{claimed: 4, published: 4, sight: 4, batch: 10, unmarked: true, err: errors.New("no space left")}
		others := report{sight: 4, batch: 10}
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			if wait, _ := p.next(failed); wait != want {
				t.Errorf("wait is %v, want %v", wait, want)
			}
			p.next(others)
		}
		p.next(report{batch: 10}) // nothing waits: somebody has marked it
		if wait, _ := p.next(failed); wait != time.Second {
			t.Errorf("after its end another begins with %v", wait)
		}
	})
	t.Run("what others have is looked past", func(t *testing.T) {
		p := fresh()
		for range 3 {
			if wait, _ := p.next(report{claimed: 1, more: true, batch: 10}); wait != 0 {
				t.Errorf("wait is %v", wait)
			}
		}
		if p.window != 40*64 {
			t.Errorf("window is %d", p.window)
		}
		for range 6 * narrowAfter {
			p.next(report{claimed: 10, published: 10, more: true, batch: 10})
		}
		if p.window != 40 {
			t.Errorf("window is %d after full batches", p.window)
		}
	})
	t.Run("a backlog is claimed near, for as long as that finds enough", func(t *testing.T) {
		p := fresh()
		full := report{claimed: 10, usable: 10, published: 10, more: true, batch: 10, indexed: true}
		near := full
		near.near = true
		poor := near
		poor.usable = 4
		for i, step := range []struct {
			r    report
			near bool
		}{{report{claimed: 3, usable: 3, batch: 10, indexed: true}, false}, {full, true}, {near, true}, {poor, false}} {
			if p.next(step.r); p.near != step.near || (p.look().window == 0) != step.near {
				t.Errorf("step %d: the next claim is near: %v", i, p.near)
			}
		}
		for _, want := range []int{2, 4, 8} {
			tries := 1
			for p.next(full); !p.near; p.next(full) {
				tries++
			}
			if tries != want {
				t.Errorf("after one more that found too little another is tried after %d, want %d", tries, want)
			}
			p.next(poor)
		}
		others := report{claimed: 1, usable: 1, more: true, batch: 10, indexed: true}
		wide := 0
		for p.next(others); !p.near && !p.walk; p.next(others) { // others have all that is in sight
			wide = p.window
		}
		if wide <= 40 {
			t.Errorf("meanwhile it looks at %d", wide)
		}
		p.walk = false
		if p.next(near); !p.near || p.window != 40 {
			t.Errorf("after one that found enough the next is near: %v, and else looks at %d", p.near, p.window)
		}
		short := near
		short.claimed = 9
		if wait, _ := p.next(short); wait != 0 || p.near {
			t.Errorf("the end of the backlog is looked at after %v, near: %v", wait, p.near)
		}
		if p.next(full); !p.near {
			t.Error("a short one is taken for one that found too little")
		}
		if p.next(report{near: true, outage: true}); p.near {
			t.Error("an outage is probed by near claims")
		}
		full.indexed = false
		if q := fresh(); true {
			if q.next(full); q.near {
				t.Error("without the index a claim is near")
			}
		}
	})
	t.Run("what is far is looked for by aggregate", func(t *testing.T) {
		p := fresh()
		poor := report{claimed: 1, usable: 1, published: 1, more: true, batch: 10, indexed: true}
		for range 3 {
			p.near = false // which finds nothing either
			p.next(poor)
		}
		if l := p.look(); l.window != walking || l.from != nil {
			t.Fatalf("past its widest window it looks at %+v", l)
		}
		walk := poor
		walk.walk, walk.passed, walk.end = true, 7, &aggregate{"store", uuid.UUID{1}}
		if wait, _ := p.next(walk); wait != 0 || p.look().from != walk.end {
			t.Errorf("after one that was cut short it waits %v and goes on at %v", wait, p.look().from)
		}
		if p.next(report{err: errors.New("gone")}); p.look().from != walk.end {
			t.Errorf("after one that failed it goes on at %v", p.look().from)
		}
		last := walk
		last.end, last.passed = nil, 0
		if wait, _ := p.next(last); wait == 0 || p.look() != (look{window: walking}) {
			t.Errorf("at the end it waits %v and looks at %+v; some are held back still", wait, p.look())
		}
		full := walk
		full.claimed, full.published, full.usable = 10, 10, 10
		for _, want := range []int{2, 4, 8} {
			tries := 1
			for p.next(full); p.look().window == walking; p.next(full) {
				tries++
			}
			if tries != want || p.look().window != widest*sight*10 {
				t.Errorf("after %d full ones it looks at %d, want the widest window after %d", tries, p.look().window, want)
			}
			p.next(poor)
		}
		p.next(last)
		if p.next(last); p.look() != (look{window: 40}) {
			t.Errorf("once nothing is held back it looks at %+v", p.look())
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
	h, now := newHolds(), time.Unix(1000, 0)
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
	if got := h.at(now.Add(time.Minute)); len(got) != 0 || len(h.until) != 0 {
		t.Errorf("held are %v", got)
	}
}
