package cost_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// oneOutbox is the default catalog with wsOutbox alone, in so many shards.
func oneOutbox(t *testing.T, shards int) *contracts.Catalog {
	t.Helper()
	c := catalog(t, map[string]int{"wsOutbox": shards})
	c.Outboxes = slices.DeleteFunc(c.Outboxes, func(o *contracts.Outbox) bool { return o.Name != "wsOutbox" })
	return c
}

// standardIn is a record of a shard of an outbox, in STANDARD_LANE.
func (w *world) standardIn(o *contracts.Outbox, shard int) *contracts.Record {
	for {
		rec := w.record(o, func(r *contracts.EventRoute) bool { return r.Lane == contracts.StandardLane })
		if contracts.ShardOf(rec.AggregateID, o.Shards) == shard {
			return rec
		}
	}
}

// TestShardsLiftWhatBoundsAnOutbox: where Firestore bears 500 writes a second to
// each sequence, a lane of an outbox takes in and settles 250 records a second. With
// N shards it is N times as many.
func TestShardsLiftWhatBoundsAnOutbox(t *testing.T) {
	thorough.Long(t)
	for _, shards := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			t.Parallel()
			catalog := oneOutbox(t, shards)
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, catalog)
				defer w.close()
				w.hold = newSequences(cost.SequentialWrites)
				w.start("instance-0")
				time.Sleep(settled)
				const warm, d = 3 * time.Second, 10 * time.Second
				began := time.Now()
				w.saturate(catalog.Outboxes[0], began.Add(warm+d))
				want := float64(shards * cost.RecordsOfSequence)
				between(t, w.hold.rate(began.Add(warm), began.Add(warm+d)), want*(1-withinOfBound), want*(1+withinOfBound))
			})
		})
	}
}

// withinOfBound is how far from the bound a simulated rate may be.
const withinOfBound = 0.03

func between(t *testing.T, got, least, most float64) {
	t.Helper()
	t.Logf("%.1f records/s", got)
	if got < least || got > most {
		t.Errorf("%.1f records/s, want %.0f to %.0f", got, least, most)
	}
}

// TestShardsLiftWhatBoundsABacklog: records that are there already are written once
// more, so that they go twice as fast, whether each shard has an instance of its own or
// they have one together.
func TestShardsLiftWhatBoundsABacklog(t *testing.T) {
	thorough.Long(t)
	for _, c := range []struct{ shards, instances int }{{1, 1}, {2, 2}, {4, 4}, {4, 1}} {
		t.Run(fmt.Sprintf("%d shards, %d instances", c.shards, c.instances), func(t *testing.T) {
			t.Parallel()
			catalog := oneOutbox(t, c.shards)
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, catalog)
				defer w.close()
				const warm, d, inCommit = 2 * time.Second, 5 * time.Second, 50
				w.hold = newSequences(1e6) // the backlog does not wait
				for n := range int((warm+d).Seconds()+4) * cost.SequentialWrites / inCommit * c.shards {
					var records []*contracts.Record
					for range inCommit {
						records = append(records, w.standardIn(catalog.Outboxes[0], n%c.shards))
					}
					w.append(records...)
				}
				time.Sleep(time.Minute)
				w.hold.perSecond = cost.SequentialWrites
				for n := range c.instances {
					w.start(fmt.Sprint("instance-", n))
				}
				for w.hold.rate(time.Time{}, time.Now()) == 0 {
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(warm)
				began := time.Now()
				time.Sleep(d)
				bound := float64(c.shards * cost.SequentialWrites)
				between(t, w.hold.rate(began, began.Add(d)), bound*(1-withinOfBound), bound*(1+withinOfBound))
			})
		})
	}
}

// saturate has producers append to each shard as fast as they are let, each one
// commit after another, until end.
func (w *world) saturate(o *contracts.Outbox, end time.Time) {
	const producers, inCommit = 8, 5
	done := make(chan struct{})
	for n := range producers * o.Shards {
		go func() {
			for time.Now().Before(end) {
				var records []*contracts.Record
				for range inCommit {
					records = append(records, w.standardIn(o, n%o.Shards))
				}
				w.append(records...)
			}
			done <- struct{}{}
		}()
	}
	for range producers * o.Shards {
		<-done
	}
}
