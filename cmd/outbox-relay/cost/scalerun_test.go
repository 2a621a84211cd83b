package cost_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/ier"
)

// processor is an instance's: what it is asked for takes its time, one after
// another.
type processor struct {
	each time.Duration // of a record at one target

	mu   sync.Mutex
	free time.Time
}

func (p *processor) work(records int) {
	p.mu.Lock()
	now := time.Now()
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(records) * p.each)
	until := p.free
	p.mu.Unlock()
	time.Sleep(until.Sub(now))
}

// topic takes messages as Pub/Sub does: each request takes its time. Before that a
// processor has done the relay's own work.
type topic struct {
	processor *processor
	seen      *arrivals
}

// Deliver implements ier.Target.
func (o topic) Deliver(_ context.Context, parcels []ier.Parcel) []error {
	o.processor.work(len(parcels))
	time.Sleep(cost.PublishTime)
	for _, p := range parcels {
		o.seen.add(p.Record.Lane, time.Since(p.Record.OccurredAt))
	}
	return make([]error, len(parcels))
}

// arrivals are deliveries.
type arrivals struct {
	mu   sync.Mutex
	n    int
	lags map[contracts.Lane][]time.Duration // from the moment that a producer began its append
}

func (a *arrivals) add(lane contracts.Lane, lag time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	a.lags[lane] = append(a.lags[lane], lag)
}

// cut returns how many there were, and the lags since the last cut in words.
func (a *arrivals) cut() (n int, lags string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out strings.Builder
	for _, lane := range contracts.Lanes() {
		of := a.lags[lane]
		slices.Sort(of)
		if len(of) > 0 {
			fmt.Fprintf(&out, " %s p50 %v p99 %v", lane, of[len(of)/2].Round(time.Millisecond), of[len(of)*99/100].Round(time.Millisecond))
		}
	}
	clear(a.lags)
	return a.n, out.String()
}

// offer has producers append at a rate, evenly over all outboxes, whether the
// commits before are through or not. It returns how many deliveries that makes.
func (w *world) offer(rate float64, d time.Duration) (deliveries int) {
	const pace = 10 * time.Millisecond
	owed := 0.0
	for range d / pace {
		next := time.Now().Add(pace)
		owed += rate * pace.Seconds() / float64(len(w.catalog.Outboxes))
		each := int(owed)
		owed -= float64(each)
		for _, o := range w.catalog.Outboxes {
			var records []*contracts.Record
			for range each {
				rec := w.record(o, nil)
				deliveries += len(o.Route(rec.EventType).Targets)
				records = append(records, rec)
			}
			w.producers.Go(func() {
				if err := w.commit(records); err != nil {
					w.t.Error(err)
				}
			})
		}
		time.Sleep(time.Until(next))
	}
	return deliveries
}

// has is the default catalog with what a run has, which so many instances share.
func has(t *testing.T, r cost.Run, needs *cost.Estimate) (c *contracts.Catalog, instances int) {
	t.Helper()
	c = catalog(t, nil)
	for n, o := range c.Outboxes {
		o.Shards = cost.Has(r.Shards, needs.Shards[n].Needed)
	}
	if r.Outbox != "" {
		c.Outboxes = []*contracts.Outbox{c.Outbox(r.Outbox)}
	}
	for _, l := range needs.Lanes {
		policy := c.Lanes[l.Lane]
		policy.Workers = cost.Has(r.Workers, l.WorkersNeeded)
		c.Lanes[l.Lane] = policy
	}
	return c, cost.Has(r.Instances, needs.Compute.Instances)
}

// TestWhatIsNeededSuffices: relays over a Firestore that bears so much in each
// sequence, with processors and a Pub/Sub that take their time, keep up with a
// rate if they have what docs/SIZING.md says that it needs. With half of it what
// they are behind by grows.
func TestWhatIsNeededSuffices(t *testing.T) {
	thorough.Long(t)
	most := thorough.Rate(t)
	for _, r := range cost.Runs() {
		if r.Rate > most {
			continue // make scale runs it
		}
		t.Run(fmt.Sprintf("%v records a second, %v of the shards, %v of the instances, %v of the workers", r.Rate, r.Shards, r.Instances, r.Workers), func(t *testing.T) {
			t.Parallel()
			needs, err := r.Needs(catalog(t, nil), prices(t))
			if err != nil {
				t.Fatal(err)
			}
			catalog, instances := has(t, r, needs)
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, catalog)
				defer w.close()
				w.server.Faults().Add(localfirestore.Fault{Method: "Commit", Delay: cost.CommitTime - latency})
				w.hold = newSequences(cost.SequentialWrites)
				seen := &arrivals{lags: make(map[contracts.Lane][]time.Duration)}
				each := time.Duration(needs.Compute.Processors / r.Rate / (needs.FanOut + needs.Claims) * float64(time.Second))
				for n := range instances {
					w.targets = make(map[string]ier.Target)
					p := &processor{each: each}
					for name := range catalog.Targets {
						w.targets[name] = topic{p, seen}
					}
					w.start(fmt.Sprint("instance-", n))
				}
				time.Sleep(settled)
				var behind []time.Duration
				offered, began := 0, time.Now()
				for time.Since(began) < cost.RunFor {
					offered += w.offer(r.Rate, time.Second)
					n, lags := seen.cut()
					perSecond := float64(offered) / time.Since(began).Seconds()
					behind = append(behind, time.Duration(float64(offered-n)/perSecond*float64(time.Second)))
					t.Logf("%v behind;%s", behind[len(behind)-1].Round(time.Millisecond), lags)
				}
				w.producers.Wait()
				half, end := behind[len(behind)/2-1], behind[len(behind)-1]
				switch grows := end-half > time.Second; {
				case r.Suffices() && (grows || end > r.Behind):
					t.Errorf("%v behind after %v, %v half way, want no more than %v", end, cost.RunFor, half, r.Behind)
				case !r.Suffices() && (!grows || (end-r.Behind).Abs() > r.Behind/5):
					t.Errorf("%v behind after %v, %v half way, want it to grow to %v", end, cost.RunFor, half, r.Behind)
				}
			})
		})
	}
}
