package simulation

import (
	"fmt"
	"testing"
	"time"
)

// briefly is how many of the steps the short form dies at.
const briefly = 40

// TestDeathAtEveryStep kills an instance at each step of its life, amid a little of
// everything: deliveries to several targets, retries, a target that is out, a
// freeze, a dead letter that is replayed by itself and one that breaks the contract.
func TestDeathAtEveryStep(t *testing.T) {
	plan := scenario{
		Instances: 1, Span: 25 * time.Second, Thaw: true,
		Size:   size{Window: 8, InFlight: 20, Page: 4, Behind: 4, Shards: 1, Retention: 10 * time.Second, Backoff: 500 * time.Millisecond},
		Faults: []fault{{Kind: targetDown, From: 4 * time.Second, For: 4 * time.Second, Instance: -1, Target: "STOCK", Share: 1, Code: "Unavailable"}},
		Acts:   []act{{At: 15 * time.Second, What: actRelease}, {At: 16 * time.Second, What: actAuthorize}, {At: 17 * time.Second, What: actReplay}},
	}
	for n := range 6 {
		at := time.Duration(n) * 2 * time.Second
		if n == 0 {
			at = -1
		}
		version := int64(2*n + 1)
		plan.Appends = append(plan.Appends, appending{At: at, Records: []planned{
			{Outbox: "orders", Type: "Shipped", Aggregate: "a", Version: version},
			{Outbox: "orders", Type: "Placed", Aggregate: "a", Version: version + 1},
		}}, appending{At: at, Records: []planned{{Outbox: "accounts", Type: "RoleSet", Aggregate: "b", Version: int64(n + 1)}}})
	}
	plan.Appends[2].Records[0].Poison = poison{Kind: ownFault, Target: "MAIL", Times: 2}
	plan.Appends[4].Records[1].Poison = poison{Kind: permanent, Times: 2}
	plan.Appends[5].Records[0].Poison = poison{Kind: permanent, Times: 1}
	plan.Appends[8].Records[0].Defect = noType
	undisturbed := inBubble(t, plan, nil)
	if len(undisturbed.Faults) > 0 {
		t.Fatal(narrate(plan, undisturbed))
	}
	last := undisturbed.Steps // about; those of its second life are as good
	stride := max(1, last/briefly)
	if number(t, "OUTBOX_RELAY_SIMULATE_STEPS", 0)+number(t, "OUTBOX_RELAY_SIMULATE_SEEDS", 0) > 0 {
		stride = 1
	}
	steps := undisturbed.Steps
	for k := int64(1); k <= last; k += stride {
		plan.Ends = []ending{{At: time.Microsecond, Steps: int(k), Back: time.Second}}
		r := inBubble(t, plan, nil)
		steps += r.Steps
		if len(r.Faults) > 0 {
			t.Error(fmt.Sprintf("dead at step %d: ", k) + narrate(plan, r))
			return
		}
	}
	t.Logf("%d steps; dead at every %d. of %d steps", steps, stride, last)
}
