package cost_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/ier"
	"outboxrelay/relay"
)

// TestQuietOutboxesFindASilentListener: canaries are rare while nothing is pending.
// The first record after a while of that, in which each listener has its turn, whose listener went silent meanwhile, is
// delivered as soon as one of a busy lane: after a canary's interval and the time
// that it may stay unseen. It does not matter when in the course of an interval it
// is appended.
func TestQuietOutboxesFindASilentListener(t *testing.T) {
	thorough.Long(t)
	tuning := relay.DefaultTuning()
	// Then a listener is rebuilt, and pages tell of what comes until it shows something.
	bound := tuning.CanaryInterval + tuning.SilenceBound + 5*time.Second
	for _, after := range []time.Duration{0, 7 * time.Second, 13 * time.Second} {
		quiet := 15*time.Minute + after
		t.Run(fmt.Sprint(quiet, " of quiet"), func(t *testing.T) {
			t.Parallel()
			catalog := someOutboxes(t, map[string]int{"wsOutbox": 2})
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, catalog)
				defer w.close()
				var mu sync.Mutex
				delivered := make(map[string]time.Time) // by ID
				w.everyTarget(target{fails: func(p ier.Parcel) error {
					mu.Lock()
					defer mu.Unlock()
					delivered[p.Record.ID] = time.Now()
					return nil
				}})
				w.start("instance-0")
				time.Sleep(quiet)
				for _, o := range catalog.Outboxes {
					w.server.Faults().Add(localfirestore.Fault{Method: "Listen", Collection: o.Name, Stall: true})
				}
				time.Sleep(time.Minute) // with listeners that nobody noticed
				var all []*contracts.Record
				for _, o := range catalog.Outboxes {
					for _, lane := range o.Lanes() {
						all = append(all, w.record(o, func(r *contracts.EventRoute) bool { return r.Lane == lane }))
					}
				}
				appended := time.Now()
				w.append(all...)
				time.Sleep(bound)
				mu.Lock()
				defer mu.Unlock()
				for _, r := range all {
					if at, ok := delivered[r.ID]; !ok {
						t.Errorf("%s of %s is not delivered after %v", r.EventType, r.Outbox, bound)
					} else {
						t.Logf("%s of %s is delivered after %v", r.EventType, r.Outbox, at.Sub(appended))
					}
				}
			})
		})
	}
}
