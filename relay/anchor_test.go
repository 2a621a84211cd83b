package relay

import (
	"fmt"
	"testing"
)

// A listener is dear to open, so its window does not go to and fro over records
// that are under way: it leaves the head of the lane late, and comes back late.
func TestAWindowStaysWhereItStarts(t *testing.T) {
	const window = 100
	head, behind := Position{}, Position{At: at(60_000)}
	tests := []struct {
		under int // records under way
		from  Position
		want  Position
	}{
		{0, head, head},
		{window / 5, head, head},
		{window / 2, head, head},
		{window * 3 / 4, head, head},
		{window*3/4 + 1, head, behind},
		{window * 3 / 4, behind, behind},
		{window / 2, behind, behind},
		{window/5 + 1, behind, behind},
		{window / 5, behind, head},
	}
	for _, test := range tests {
		r := testReader(t)
		for i := range test.under {
			held(r.intake, fmt.Sprint(i), 1)
		}
		if got := r.anchor(window, behind, test.from); got != test.want {
			t.Errorf("with %d of %d under way, a window at %v goes to %v, want %v", test.under, window, test.from, got, test.want)
		}
	}
}
