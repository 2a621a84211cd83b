package cost_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// startCalls is how many calls to Firestore follow one another at most from the
// start of an instance to the first deliveries of each outbox: the look at the leases, beside it
// freezes and lane controls; the registration with the taking; and the first pages,
// beside them the records in backoff, of a third of the outboxes after the other. A timer or
// a poll on the way would show as more.
const startCalls = 2 + 3

func TestStartDeliversAfterFewCalls(t *testing.T) {
	all := catalog(t, nil)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, all)
		defer w.close()
		var mu sync.Mutex
		delivered := make(map[string]time.Time) // by ID
		w.everyTarget(target{fails: func(p ier.Parcel) error {
			mu.Lock()
			defer mu.Unlock()
			delivered[p.Record.ID] = time.Now()
			return nil
		}})
		for _, start := range []string{"the first start", "a start after a clean stop"} {
			var waiting []*contracts.Record
			for _, o := range all.Outboxes {
				for _, lane := range o.Lanes() {
					waiting = append(waiting, w.record(o, func(r *contracts.EventRoute) bool { return r.Lane == lane }))
				}
			}
			w.append(waiting...)
			time.Sleep(time.Minute)
			began := time.Now()
			w.start("instance")
			time.Sleep(time.Minute)
			mu.Lock()
			first := make(map[string]time.Time) // delivery, by outbox
			for _, rec := range waiting {
				at, ok := delivered[rec.ID]
				if took := at.Sub(began); !ok || took > startCalls*latency {
					t.Errorf("%s: %s of %s is delivered (%t) after %v, the time of %d calls; want %d at most",
						start, rec.EventType, rec.Outbox, ok, took, took/latency, startCalls)
				}
				if is, ok := first[rec.Outbox]; !ok || at.Before(is) {
					first[rec.Outbox] = at
				}
			}
			mu.Unlock()
			together := make(map[time.Time]int) // outboxes whose first pages came in one call
			for _, at := range first {
				together[at]++
			}
			if n := slices.Max(slices.Collect(maps.Values(together))); n > len(all.Outboxes)/3 {
				t.Errorf("%s: %d of %d outboxes begin at one moment, want a third at most", start, n, len(all.Outboxes))
			}
			w.cancel[len(w.cancel)-1]()
			time.Sleep(time.Minute)
		}
	})
}
