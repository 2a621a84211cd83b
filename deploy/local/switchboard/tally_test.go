package switchboard

import (
	"slices"
	"testing"
)

// strikes are the answers to so many matching calls.
func strikes(t *Tally, calls int) []bool {
	hit := make([]bool, calls)
	for i := range hit {
		hit[i] = t.Strikes()
	}
	return hit
}

func TestTallySkipsAndEnds(t *testing.T) {
	tally := NewTally(1, 2, 0, 0)
	if got, want := strikes(&tally, 3), []bool{false, true, true}; !slices.Equal(got, want) {
		t.Errorf("hit %v, want %v", got, want)
	}
	if !tally.UsedUp() {
		t.Error("want it used up after two hits")
	}
	if tally.Strikes() || tally.Met != 4 || tally.Hit != 2 {
		t.Errorf("met %d and hit %d, want 4 and 2", tally.Met, tally.Hit)
	}
	if tally = NewTally(0, 0, 0, 0); slices.Contains(strikes(&tally, 100), false) || tally.UsedUp() {
		t.Error("want one without a bound to hit all")
	}
}

func TestTallyShareIsSeeded(t *testing.T) {
	a, b, other := NewTally(0, 0, 0.3, 7), NewTally(0, 0, 0.3, 7), NewTally(0, 0, 0.3, 8)
	first := strikes(&a, 1000)
	if !slices.Equal(first, strikes(&b, 1000)) {
		t.Error("the same seed chose other calls")
	}
	if slices.Equal(first, strikes(&other, 1000)) {
		t.Error("another seed chose the same calls")
	}
	if a.Hit < 250 || a.Hit > 350 {
		t.Errorf("hit %d of 1000, want about 300", a.Hit)
	}
}
