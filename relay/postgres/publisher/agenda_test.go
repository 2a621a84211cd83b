package publisher

import (
	"slices"
	"testing"

	"github.com/google/uuid"
)

func TestPlanStopsWhereTheOrderWould(t *testing.T) {
	a, b := aggregate{"store", uuid.UUID{1}}, aggregate{"store", uuid.UUID{2}}
	at := func(of aggregate, place int64, attempts int) *row {
		return &row{id: uuid.UUID{of.id[0], byte(place)}, aggregate: of, place: place, attempts: attempts}
	}
	for _, test := range []struct {
		name         string
		rows         []*row
		each         int
		want, parked []int64 // places of a in order, then those of b, as 100 + place
	}{
		{name: "nothing"},
		{name: "all of both", rows: []*row{at(a, 1, 0), at(b, 1, 0), at(a, 2, 0)}, want: []int64{1, 2, 101}},
		{name: "a gap", rows: []*row{at(a, 1, 0), at(a, 3, 0), at(a, 4, 0), at(b, 1, 0)}, want: []int64{1, 101}},
		{name: "a head of somebody else", rows: []*row{at(a, 2, 0), at(b, 1, 0)}, want: []int64{101}},
		{name: "a parked head", rows: []*row{at(a, 1, 3), at(a, 2, 0), at(b, 1, 2)}, want: []int64{101}, parked: []int64{1}},
		{name: "a parked one behind", rows: []*row{at(a, 1, 0), at(a, 2, 3), at(a, 3, 0)}, want: []int64{1}},
		{name: "one of each", rows: []*row{at(a, 1, 0), at(a, 2, 0), at(b, 1, 0)}, each: 1, want: []int64{1, 101}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := plan(test.rows, 3, test.each)
			places := func(rows ...*row) (list []int64) {
				for _, r := range rows {
					list = append(list, r.place+100*int64(r.aggregate.id[0]-1))
				}
				return list
			}
			if runs := places(slices.Concat(toRows(got.runs)...)...); !slices.Equal(runs, test.want) {
				t.Errorf("runs are %v, want %v", runs, test.want)
			}
			if parked := places(got.parked...); !slices.Equal(parked, test.parked) {
				t.Errorf("parked are %v, want %v", parked, test.parked)
			}
		})
	}
}

func toRows(runs []run) (lists [][]*row) {
	for _, r := range runs {
		lists = append(lists, r)
	}
	return lists
}
