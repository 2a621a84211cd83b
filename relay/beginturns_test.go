package relay

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSharesBeginAThirdAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, start := newBeginTurns(6), time.Now()
		begins := make(chan time.Duration, 6)
		var all sync.WaitGroup
		const takes = 100 * time.Millisecond
		for range 6 {
			all.Go(func() {
				end := b.turn(t.Context())
				begins <- time.Since(start)
				time.Sleep(takes) // of virtual time
				end()
				end() // once is enough
			})
		}
		for i := range 6 {
			if got, want := <-begins, time.Duration(i/2)*takes; got != want {
				t.Errorf("begun after %v, want %v", got, want)
			}
		}
		all.Wait()
	})
}

// A share whose first pages do not come holds up nobody for good, and whoever waits may end.
func TestAShareThatDoesNotBeginHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, start := newBeginTurns(1), time.Now()
		hangs := b.turn(t.Context())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		b.turn(ended)()
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v in a context that has ended", waited)
		}
		time.Sleep(turnPatience / 2) // of virtual time
		b.turn(t.Context())()
		if waited := time.Since(start); waited != turnPatience {
			t.Errorf("waited %v for one that hangs, want until %v", waited, turnPatience)
		}
		next := b.turn(t.Context())
		if waited := time.Since(start); waited != turnPatience {
			t.Errorf("waited %v, want %v: what hung has no turn any more", waited, turnPatience)
		}
		hangs() // takes nobody's turn away
		if len(b.slots) != 1 {
			t.Errorf("%d turns are given, want 1", len(b.slots))
		}
		next()
	})
}
