package main

import (
	"fmt"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// A new version takes over from the old one while records flow into every outbox,
// and is rolled back: nothing is lost, repeated or disordered, and no lease runs
// out.
func TestE2EOperationsRollOutAndBack(t *testing.T) {
	thorough.Long(t)
	_, catalog := variant(t)
	o := openOperation(t, catalog)
	old := o.roll(nil, []string{"relay-00041-a", "relay-00041-b"}, "K_REVISION=relay-00041")
	o.spread(map[string]int{"relay-00041-a": 3, "relay-00041-b": 3})
	end := o.flow(2 * flowEvery)
	o.flowOn(100)
	t.Logf("before: %v", o.leases().Spread())

	next := o.roll(old, []string{"relay-00042-a", "relay-00042-b"}, "K_REVISION=relay-00042")
	o.spread(map[string]int{"relay-00042-a": 3, "relay-00042-b": 3})
	o.flowOn(100)
	t.Logf("rolled out: %v", o.leases().Spread())
	for _, i := range old {
		t.Logf("%s released %d leases, the last words of it: %v", i.name, len(i.logged("lease released")), lastMessage(i))
	}

	back := o.roll(next, []string{"relay-00041-c", "relay-00041-d"}, "K_REVISION=relay-00041")
	o.spread(map[string]int{"relay-00041-c": 3, "relay-00041-d": 3})
	o.flowOn(100)
	end()
	t.Logf("rolled back: %v", o.leases().Spread())
	for _, i := range append(next, back...) {
		for _, l := range i.logged("lease taken") {
			if l["from"] != "" {
				t.Errorf("%s took %v from %v when its lease had run out, want it released", i.name, l["share"], l["from"])
			}
		}
	}
	o.want(0)
}

func lastMessage(i *instance) string {
	stopped := i.logged("stopped")
	if len(stopped) == 0 {
		return "none"
	}
	return fmt.Sprintf("stopped, took %v", stopped[len(stopped)-1]["took"])
}

// A catalog that is rolled back under producers that write a new event type:
// the old one does not know it, and its records become dead letters. With the
// new catalog back they are replayed in bulk, and nothing is lost.
func TestE2EOperationsRollBackTooFar(t *testing.T) {
	thorough.Long(t)
	o := openChange(t,
		"      - {type: AccountCreated,", "      - {type: AccountRenamed, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [FUNNEL]}\n      - {type: AccountCreated,")
	first := o.roll(nil, []string{"new-1"}, o.changed)
	end := o.produce(flowEvery, o.after, o.versions(o.after, "accOutbox", "AccountRenamed", 4))
	o.flowOn(50)

	old := o.roll(first, []string{"old-1"})
	patiently(t, "the old catalog refuses the new event", testPatience, 20*time.Millisecond, func() bool { return o.dead() >= 20 })
	end()
	o.spread(map[string]int{"old-1": 6})
	eventually(t, "nothing of it waits", func() bool { return o.waiting("accOutbox", contracts.Pending) == 0 })
	dead := o.dead()
	o.mustAsk(old[0], "viewer", "dlq", "groups")

	again := o.roll(old, []string{"new-2"}, o.changed)
	o.spread(map[string]int{"new-2": 6})
	o.mustAsk(again[0], "operator", "dlq", "bulk", "--event-type", "AccountRenamed", "--rate", "100", "--yes", "--reason", "the catalog knows AccountRenamed again")
	o.want(dead)
}
