package relay_test

import (
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/ier"
)

// Firestore is out of reach for one of two instances or for both, for less than
// a lease's term or for more, while producers go on. Nothing is lost, no attempt
// is counted, and nothing is delivered twice but what was in flight when its
// outbox had to change hands.
func TestFirestoreOutOfReach(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for _, test := range []struct {
		name      string
		both      bool
		term      time.Duration
		takenOver bool // it lasts longer than the term
	}{
		{"for one, less than a term", false, steady, false},
		{"for one, more than a term", false, brief, true},
		{"for both, less than a term", true, steady, false},
		{"for both, more than a term", true, brief, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.tuning.CommitTimeout = time.Second
			a := f.member("a", test.term, nil)
			f.spread(map[string]int{"a": 6})
			b := f.member("b", test.term, nil)
			f.spread(map[string]int{"a": 3, "b": 3})
			flow := f.flow(f.catalog, flowEvery)
			flow.on(30)

			cut := []*member{a}
			if test.both {
				cut = append(cut, b)
			}
			for _, m := range cut {
				m.cutFirestore()
			}
			unmarked := f.pendingKeys()
			f.outlast(cut, test.term, test.takenOver)
			if test.both {
				unmarked = f.pendingKeys()
			}
			for _, m := range cut {
				m.mendFirestore()
			}
			f.spread(map[string]int{"a": 3, "b": 3})
			flow.on(30)

			records := flow.end()
			got := f.delivered(records)
			if got.disordered > 0 || !test.takenOver && got.duplicates > 0 {
				t.Errorf("got %+v, want every record in order, none twice unless its outbox changed hands", got)
			}
			for key := range f.repeated() {
				if !unmarked[key] {
					t.Errorf("%s was delivered again though it had been marked", key)
				}
			}
			if lost := a.events("lost") + b.events("lost"); !test.takenOver && lost > 0 {
				t.Errorf("%d leases were lost", lost)
			}
			f.wantNoAttempts(records)
			t.Logf("%d records, %d delivered twice", len(records), got.duplicates)
		})
	}
}

// outlast waits until an outage was noticed by those who are cut off, or until
// it has lasted so long that their leases are another's.
func (f *fixture) outlast(cut []*member, term time.Duration, takenOver bool) {
	f.t.Helper()
	switch {
	case !takenOver:
		for _, m := range cut {
			f.eventually("no canary has come back for a while", func() bool { return time.Since(m.proven()) > 10*f.tuning.CanaryInterval })
		}
	case len(cut) == 1:
		f.spread(map[string]int{"b": 6})
	default:
		f.eventually("all leases have run out", func() bool {
			for _, l := range f.leases() {
				if l.Age < 2*term {
					return false
				}
			}
			return true
		})
	}
}

// proven is when a listener was proven alive last.
func (r *running) proven() time.Time {
	var last time.Time
	for _, o := range r.relay.Health().Outboxes {
		for _, l := range o.Listeners {
			if l.ProvenAt != nil && l.ProvenAt.After(last) {
				last = *l.ProvenAt
			}
		}
	}
	return last
}

// pendingKeys are the idempotency keys of what is not marked as delivered.
func (f *fixture) pendingKeys() map[string]bool {
	f.t.Helper()
	out := make(map[string]bool)
	for _, o := range f.catalog.Outboxes {
		docs, err := f.db.Collection(o.Name).Where("status", "==", string(contracts.Pending)).Documents(f.ctx).GetAll()
		if err != nil {
			f.t.Fatal(err)
		}
		for _, d := range docs {
			if key, ok := d.Data()["idempotencyKey"].(string); ok {
				out[key] = true
			}
		}
	}
	return out
}

// A listener's bytes are swallowed, and nothing tells of it: the canary does.
func TestSwallowedListenerIsRebuilt(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.SilenceBound = 500 * time.Millisecond
	a := f.member("a", steady, nil)
	f.spread(map[string]int{"a": 6})
	a.alive()
	a.watching.poison(swallowed)
	records := f.records("wsOutbox", 40, 4)
	f.append(records, 5)
	f.eventually("the canary tells", func() bool {
		return a.metric("relay_listener_rebuilds_total", "outbox", "wsOutbox", "reason", "silent") >= 1
	})
	a.watching.mend() // connections from before it end with that
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	a.alive()
	if n := a.events("lost") + a.events("lapsed"); n > 0 {
		t.Errorf("%d leases were lost or lapsed, want none: the listeners alone were silent", n)
	}
	f.wantNoAttempts(records)
}

// Pub/Sub is out of reach for long enough that every breaker opens and every
// probe fails: records of two instances wait, and cost nothing.
func TestPubSubOutOfReach(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	f.publish.Timeout = 500 * time.Millisecond
	f.shrink(outageWindow, outageInFlight)
	members := []*member{f.member("a", 10*time.Second, nil), f.member("b", 10*time.Second, nil)}
	f.spread(map[string]int{"a": 3, "b": 3})
	for _, m := range members {
		m.pubsub.cut()
	}
	var records []*contracts.Record
	for _, o := range f.catalog.Outboxes {
		more := f.records(o.Name, 50, 5)
		f.append(more, 7)
		records = append(records, more...)
	}
	const probes = 20 // at one every 100 ms; in service, those of many minutes
	for _, m := range members {
		f.eventually("the probes of "+m.name+" fail again and again", func() bool {
			return slices.ContainsFunc(m.relay.Health().Breakers, func(b ier.BreakerStatus) bool { return b.ConsecutiveFailures > probes })
		})
	}
	f.wantNoAttempts(records)
	for _, m := range members {
		m.pubsub.mend()
	}
	// A busy machine takes longer than the timeout for a publish, which then comes twice.
	if got := f.delivered(records); got.missing > 0 || got.disordered > 0 {
		t.Errorf("got %+v, want every record, and in order", got)
	}
	f.wantNoAttempts(records)
}
