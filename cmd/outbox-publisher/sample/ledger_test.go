package sample

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestJudge(t *testing.T) {
	shop := uuid.UUID{1}
	a, b, c, ghost := uuid.UUID{10}, uuid.UUID{11}, uuid.UUID{12}, uuid.UUID{13}
	for _, test := range []struct {
		name    string
		handled []uuid.UUID
		want    Figures
		kept    bool
	}{
		{"as it should be", []uuid.UUID{a, b, c}, Figures{Committed: 3, Handled: 3}, true},
		{"one lost", []uuid.UUID{a, c}, Figures{Committed: 3, Handled: 2, Lost: 1}, false},
		{"one overtaken", []uuid.UUID{a, c, b}, Figures{Committed: 3, Handled: 3, OutOfOrder: 1}, false},
		{"one twice", []uuid.UUID{a, b, c, a}, Figures{Committed: 3, Handled: 3, TwoEffects: 1}, false},
		{"one of nobody", []uuid.UUID{a, ghost, b, c}, Figures{Committed: 3, Handled: 4, Ghosts: 1}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := NewLedger()
			for _, id := range test.handled {
				l.happened(shop, id)
			}
			got := l.Judge(map[uuid.UUID][]uuid.UUID{shop: {a, b, c}})
			if diff := cmp.Diff(test.want, got); diff != "" || got.Kept() != test.kept {
				t.Errorf("kept is %v; figures (-want +got):\n%s", got.Kept(), diff)
			}
		})
	}
}
