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
	"outboxrelay/relay"
)

// catalog is the default one, with a number of shards in some outboxes.
func catalog(t *testing.T, shards map[string]int) *contracts.Catalog {
	t.Helper()
	c, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range shards {
		c.Outbox(name).Shards = n
	}
	return c
}

// someOutboxes is that catalog with three of its outboxes, of one, two and three
// lanes: what is right for these is right for more.
func someOutboxes(t *testing.T, shards map[string]int) *contracts.Catalog {
	t.Helper()
	c := catalog(t, shards)
	c.Outboxes = slices.DeleteFunc(c.Outboxes, func(o *contracts.Outbox) bool {
		return !slices.Contains([]string{"tagOutbox", "wsOutbox", "accOutbox"}, o.Name)
	})
	return c
}

// idleBill is what a formula says of a time without records.
func idleBill(f cost.Fleet, d time.Duration) bill {
	seconds := d.Seconds()
	return bill{
		ofOutboxes: f.Canaries().Plus(f.Sweeps()).Times(seconds), ofLeases: f.Leases().Times(seconds), ofQueue: f.Queue().Times(seconds),
	}
}

// settled is how long relays are left alone before their bill is read: until all
// listeners stand, and every outbox has its owner.
const settled = 2 * time.Minute

// TestIdleCostsWhatIsBilled: an hour of several relays with nothing to do, of outboxes in
// shards. Of one alone, see TestAnIdleHourCostsAtMost.
func TestIdleCostsWhatIsBilled(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	const instances = 3
	catalog := someOutboxes(t, map[string]int{"wsOutbox": 2, "accOutbox": 3})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog)
		defer w.close()
		for n := range instances {
			w.start(fmt.Sprintf("instance-%d", n))
		}
		time.Sleep(settled)
		const d = time.Hour
		got := w.bill(func() { time.Sleep(d) })
		f := cost.Fleet{Catalog: catalog, Instances: instances, Schedule: cost.NewSchedule(relay.Tuning{}, 0)}
		judge(t, "three instances, and outboxes in shards", idleBill(f, d), got)
	})
}
