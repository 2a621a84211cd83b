package relay_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
)

// reads counts the documents of an outbox that a relay reads for its lanes, in
// pages and by listeners.
func (f *fixture) reads(outbox string) *atomic.Int64 {
	var n atomic.Int64
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
			docs, err := store.Page(ctx, s)
			if s.Kind == relay.ScanLane && s.Outbox == outbox {
				n.Add(int64(len(docs)))
			}
			return docs, err
		}}
	}
	return &n
}

// A target that takes two calls and refuses the next five, as one over its quota
// does, has its breaker open and close for each few records of the backlog. What
// waits for it is read once as it comes and once as it is brought back, however
// often that is.
func TestATargetThatFlapsCostsNoReads(t *testing.T) {
	thorough.Long(t)
	f := setup(t, newCloud(t))
	const backlog, pass, refuse = 200, 2, 5
	var mu sync.Mutex
	calls := 0
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		mu.Lock()
		defer mu.Unlock()
		if target != "FUNNEL" {
			return nil
		}
		if calls++; calls%(pass+refuse) >= pass {
			return failure(contracts.Outage, "ResourceExhausted")
		}
		return nil
	})
	var all []*contracts.Record
	for a := range backlog {
		all = append(all, f.record("schedOutbox", "CompensatingScheduleCancelled", fmt.Sprintf("a-%d", a), 1))
	}
	f.append(all, 10)
	read := f.reads("schedOutbox")
	r := f.run()
	var trips atomic.Int64
	r.router.Subscribe(func(_ string, open bool) {
		if open {
			trips.Add(1)
		}
	})
	f.patience = usualPatience // beyond that: some hundred outages
	if got := f.delivered(all); got != (judgement{}) {
		t.Errorf("got %+v, want every record once", got)
	}
	t.Logf("%d records read for %d records and %d outages", read.Load(), backlog, trips.Load())
	if trips.Load() < backlog/20 {
		t.Errorf("the breaker opened %d times: the test shows less than it says", trips.Load())
	}
	if most := int64(5 * backlog); read.Load() > most {
		t.Errorf("%d records were read, want %d at most", read.Load(), most)
	}
}
