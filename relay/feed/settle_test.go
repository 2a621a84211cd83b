package feed

import (
	"slices"
	"testing"
)

// Two writes of one document at a time could be applied in the other order.
func TestASettlementWaitsForTheOneBefore(t *testing.T) {
	g := newGated(t)
	r := g.take(1)
	mark, end := &Settlement{Record: r, Kind: Mark}, &Settlement{Record: r, Kind: End}
	written := func(e Event) []*Settlement {
		actions, _ := g.step(e)
		var out []*Settlement
		for _, a := range actions {
			if a.Do == Write {
				out = append(out, a.Write)
			}
		}
		return out
	}
	if got := written(Settle{mark}); !slices.Equal(got, []*Settlement{mark}) {
		t.Fatalf("%d settlements are written, want the first", len(got))
	}
	if got := written(Settle{end}); len(got) > 0 {
		t.Fatal("the second is written while the first is on its way")
	}
	if got := written(Settled{mark, at(2000)}); !slices.Equal(got, []*Settlement{end}) {
		t.Fatalf("%d settlements are written after the first, want the second", len(got))
	}
	if g.machine.Quiet() {
		t.Error("nothing is being written, they say")
	}
	if g.step(Settled{end, at(3000)}); !g.machine.Quiet() {
		t.Error("something is in memory, or being written")
	}
}
