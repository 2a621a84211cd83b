package cost_test

import (
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
)

// TestAnIdleHourCostsAtMost: the built-in catalog's six outboxes, one instance, and
// nothing to do. The README says what an hour of that costs.
func TestAnIdleHourCostsAtMost(t *testing.T) {
	thorough.Long(t)
	bounds := bill{
		ofOutboxes: operations(3_550, 230, 0), ofLeases: operations(2_650, 5_760, 0), ofQueue: operations(3_100, 0, 0),
	}
	catalog := catalog(t, nil)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog)
		defer w.close()
		w.start("instance-0")
		time.Sleep(settled)
		const d = time.Hour
		got := w.bill(func() { time.Sleep(d) })
		var all cost.Operations
		for kind, bound := range bounds {
			billed := got[kind]
			all = all.Plus(billed)
			t.Logf("%s: billed %v reads, %v writes, %v deletes", kind, billed.Reads, billed.Writes, billed.Deletes)
			if billed.Reads > bound.Reads || billed.Writes > bound.Writes || billed.Deletes > bound.Deletes {
				t.Errorf("%s: billed %+v, want %+v at most", kind, billed, bound)
			}
		}
		f := cost.Fleet{Catalog: catalog, Instances: 1, Schedule: cost.NewSchedule(relay.Tuning{}, 0)}
		canaries, sweeps := f.Canaries().Times(d.Seconds()), f.Sweeps().Times(d.Seconds())
		t.Logf("of the outboxes by formula: canaries and counts %.0f reads, %.0f writes; sweeps %.0f reads", canaries.Reads, canaries.Writes, sweeps.Reads)
		prices, err := cost.BuiltInPrices()
		if err != nil {
			t.Fatal(err)
		}
		for _, region := range []string{"europe-west1", "us-central1"} {
			list, err := prices.In(region)
			if err != nil {
				t.Fatal(err)
			}
			price := (all.Reads*list[cost.FirestoreReads].Price + all.Writes*list[cost.FirestoreWrites].Price) / 1e6
			t.Logf("%s: %.0f reads and %.0f writes an hour, %.5f USD; %.2f in a month", region, all.Reads, all.Writes, price, price*730)
		}
		judge(t, "an hour", idleBill(f, d), got)
	})
}
