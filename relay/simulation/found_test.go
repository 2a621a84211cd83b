package simulation

import (
	"cmp"
	"testing"
	"time"
)

// TestFound runs what the simulation found once, made by hand: each of these failed
// before it was mended.
func TestFound(t *testing.T) {
	for name, plan := range map[string]scenario{
		"a record in backoff that waits for one of its targets is given back with what the other has": {
			Appends: []appending{{At: time.Second, Records: []planned{
				{Outbox: "orders", Type: "Shipped", Aggregate: "a", Version: 1, Poison: poison{Kind: ownFault, Target: "MAIL", Times: 1}},
			}}},
			Faults: []fault{{Kind: targetDown, For: 40 * time.Second, Instance: -1, Target: "STOCK", Share: 1, Code: "Unavailable"}},
			Ends:   []ending{{At: 20 * time.Second, Clean: true, Back: time.Second}},
		},
		"a commit fills the window alone, and its target is out": {
			Span: 3 * time.Minute,
			Size: size{Window: 5},
			Appends: []appending{{At: time.Second, Records: []planned{
				{Outbox: "orders", Type: "Placed", Aggregate: "a", Version: 1},
				{Outbox: "orders", Type: "Placed", Aggregate: "b", Version: 1},
				{Outbox: "orders", Type: "Placed", Aggregate: "c", Version: 1},
				{Outbox: "orders", Type: "Placed", Aggregate: "d", Version: 1},
				{Outbox: "orders", Type: "Placed", Aggregate: "e", Version: 1},
				{Outbox: "orders", Type: "Placed", Aggregate: "f", Version: 1},
			}}},
			Faults: []fault{{Kind: targetDown, For: 3 * time.Minute, Instance: -1, Target: "MAIL", Share: 1, Code: "Unavailable"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan.Instances, plan.Span = max(plan.Instances, 1), max(plan.Span, time.Minute)
			plan.Size = size{Window: cmp.Or(plan.Size.Window, 20), InFlight: 40, Page: 10, Behind: 8, Shards: 1, Retention: time.Minute, Backoff: 500 * time.Millisecond}
			if r := inBubble(t, plan, nil); len(r.Faults) > 0 {
				t.Error(narrate(plan, r))
			}
		})
	}
}
