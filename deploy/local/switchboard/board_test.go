package switchboard

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// struck are the faults that so many calls suffer, each of which every fault matches.
func struck(b *Board[string], calls int) []string {
	got := make([]string, calls)
	for i := range got {
		got[i], _ = b.Strike(func(string) bool { return true })
	}
	return got
}

func TestOldestThatHitsDecides(t *testing.T) {
	var b Board[string]
	first := b.Add("first", NewTally(1, 1, 0, 0))
	b.Add("second", NewTally(0, 2, 0, 0))
	if diff := cmp.Diff([]string{"second", "first", "second", ""}, struck(&b, 4)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	for i, want := range []struct{ id, met, hit int }{{1, 4, 1}, {2, 3, 2}} { // the first hid a call from the second
		if got := b.List()[i]; got.ID != want.id || got.Met != want.met || got.Hit != want.hit {
			t.Errorf("fault %q: ID %d, met %d, hit %d; want %+v", got.Fault, got.ID, got.Met, got.Hit, want)
		}
	}
	if !b.Remove(first) || b.Remove(first) || len(b.List()) != 1 {
		t.Error("Remove must remove the one, and report whether it was on")
	}
	b.Clear()
	if left := b.List(); len(left) != 0 {
		t.Errorf("%d faults are left, want none", len(left))
	}
	if again := b.Add("third", NewTally(0, 0, 0, 0)); again != 3 {
		t.Errorf("a later fault has ID %d, want one that none had", again)
	}
}

func TestWhatIsOverIsOnNoMore(t *testing.T) {
	for name, on := range map[string]func(*Board[string]) bool{
		"a call":    func(b *Board[string]) bool { return struck(b, 1)[0] != "" },
		"a list":    func(b *Board[string]) bool { return len(b.List()) > 0 },
		"a removal": func(b *Board[string]) bool { return b.Remove(1) },
	} {
		t.Run(name, func(t *testing.T) {
			over := false
			b := Board[string]{Over: func(*Active[string]) bool { return over }}
			b.Add("passing", NewTally(0, 0, 0, 0))
			if struck(&b, 1)[0] != "passing" {
				t.Error("it is not on before it is over")
			}
			if over = true; on(&b) {
				t.Error("it is on after it is over")
			}
		})
	}
}
