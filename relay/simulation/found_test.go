package simulation

import (
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
			Span:    3 * time.Minute,
			Size:    size{Window: 5, InFlight: 40, Page: 10, Behind: 8, Shards: 1, Retention: time.Minute, Backoff: 500 * time.Millisecond},
			Appends: series(time.Second, 1, 6, "Placed", "a", "b", "c", "d", "e", "f"),
			Faults:  []fault{{Kind: targetDown, For: 3 * time.Minute, Instance: -1, Target: "MAIL", Share: 1, Code: "Unavailable"}},
		},
		"a lane refuses some of an aggregate, and delivered records are deleted": {
			Alone: true, Size: size{Window: 14, InFlight: 18, Page: 9, Behind: 5, Shards: 1, Delete: true, Retention: time.Minute, Backoff: 500 * time.Millisecond},
			Appends: series(-1, 30, 2, "Placed", "a", "b"),
			Faults:  []fault{{Kind: targetQuota, For: time.Minute, Instance: -1, Target: "MAIL", Share: 1, Rate: 4}},
		},
		"a target is out, and Firestore is slow to take which others have a record": {
			Span:    100 * time.Second,
			Size:    size{Window: 8, InFlight: 30, Page: 11, Behind: 12, Shards: 1, Delete: true, Retention: time.Minute, Backoff: 500 * time.Millisecond},
			Appends: series(-1, 24, 4, "Shipped", "a", "b", "c", "d", "e", "f", "g", "h"),
			Faults: []fault{
				{Kind: slow, For: 100 * time.Second, Instance: -1, Share: 0.4},
				{Kind: targetDown, For: 20 * time.Second, Instance: -1, Target: "STOCK", Share: 1, Code: "Unavailable"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan.Instances, plan.Span = max(plan.Instances, 1), max(plan.Span, time.Minute)
			if plan.Size.Window == 0 {
				plan.Size = size{Window: 20, InFlight: 40, Page: 10, Behind: 8, Shards: 1, Retention: time.Minute, Backoff: 500 * time.Millisecond}
			}
			if r := inBubble(t, plan, nil); len(r.Faults) > 0 {
				t.Error(narrate(plan, r))
			}
		})
	}
}

// series appends commits at that time of so many records each, of the aggregates in turn.
func series(at time.Duration, commits, together int, eventType string, aggregates ...string) (out []appending) {
	versions := make(map[string]int64)
	for n := range commits {
		a := appending{At: at}
		for i := range together {
			aggregate := aggregates[(n*together+i)%len(aggregates)]
			versions[aggregate]++
			a.Records = append(a.Records, planned{Outbox: "orders", Type: eventType, Aggregate: aggregate, Version: versions[aggregate]})
		}
		out = append(out, a)
	}
	return out
}
