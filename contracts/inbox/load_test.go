package inbox_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts/inbox"
)

// A thousand events a second for twenty seconds, and one aggregate of fifty fails all
// the time: the others are handled at once and in order, and what the inbox holds is
// bounded. Time is virtual.
func TestOrderAndMemoryAtAThousandEventsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			rate       = 1000
			seconds    = 20
			aggregates = 50
			maxHeld    = 5
		)
		store := inbox.NewMemory()
		var dead graveyard
		box := inbox.New(store, "billing", quiet(inbox.Options{MaxHeld: maxHeld, DeadLetters: &dead, Hold: time.Second}))
		var did effects
		var late, held atomic.Int64
		b := broker{backoff: 10 * time.Second}
		handler := did.handler(func(e *inbox.Event) error {
			held.Store(max(held.Load(), int64(inbox.Held(box))))
			if e.AggregateID == "agg-0" {
				return errBroken
			}
			if time.Since(e.OccurredAt) > time.Second {
				late.Add(1)
			}
			return nil
		})
		versions := make([]int64, aggregates)
		start := 0
		for range seconds {
			var batch []message
			for range rate {
				a := start % aggregates
				start++
				if versions[a] >= 5 && a == 0 { // five events of it are enough: each takes 43 minutes
					continue
				}
				versions[a]++
				batch = append(batch, event(t, fmt.Sprintf("agg-%d", a), versions[a]))
			}
			b.deliver(t.Context(), box, handler, batch...)
			pass(time.Second)
		}
		b.wait()
		handled := 0
		last := map[string]int64{}
		for _, c := range did.calls {
			if c.aggregate == "agg-0" {
				continue
			}
			handled++
			if c.version != last[c.aggregate]+1 {
				t.Fatalf("%s: version %d after %d", c.aggregate, c.version, last[c.aggregate])
			}
			last[c.aggregate] = c.version
		}
		if want := rate*seconds - rate*seconds/aggregates; handled != want {
			t.Errorf("handled %d events of the sound aggregates, want %d once each", handled, want)
		}
		if n := late.Load(); n > 0 {
			t.Errorf("%d events of the sound aggregates waited for the failing one", n)
		}
		if n := held.Load(); n > maxHeld {
			t.Errorf("%d messages were held at the same time, want %d at most", n, maxHeld)
		}
		if n := len(dead.all()); n != 5 {
			t.Errorf("%d dead letters, want all 5 of the failing aggregate", n)
		}
	})
}
