package lease

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPlan(t *testing.T) {
	at := func(second int64, id string, shares ...string) member {
		if shares == nil {
			shares = []string{"a", "b", "c", "d"}
		}
		return member{id: id, since: time.Unix(second, 0), shares: shares}
	}
	tests := []struct {
		name    string
		members []member
		owners  map[string]string
		want    map[string]string
	}{
		{name: "nobody lives", owners: map[string]string{"a": "A"}},
		{
			name: "one has all", members: []member{at(1, "A")},
			want: map[string]string{"a": "A", "b": "A", "c": "A", "d": "A", Queue: "A"},
		},
		{
			name: "the elder comes first", members: []member{at(2, "A"), at(1, "B")},
			want: map[string]string{"a": "B", "b": "A", "c": "B", "d": "A", Queue: "B"},
		},
		{
			name: "a newcomer gets what is beyond the others' quota", members: []member{at(1, "A"), at(2, "B")},
			owners: map[string]string{"a": "A", "b": "A", "c": "A", "d": "A", Queue: "A"},
			want:   map[string]string{"a": "A", "b": "A", "c": "B", "d": "B", Queue: "A"},
		},
		{
			name: "who is gone owns nothing", members: []member{at(1, "A"), at(2, "B")},
			owners: map[string]string{"a": "B", "b": "B", "c": "C", "d": "C", Queue: "C"},
			want:   map[string]string{"a": "B", "b": "B", "c": "A", "d": "A", Queue: "A"},
		},
		{
			name: "who has more keeps one more", members: []member{at(1, "A"), at(2, "B"), at(3, "C")},
			owners: map[string]string{"a": "A", "b": "C", "c": "C", "d": "B"},
			want:   map[string]string{"a": "A", "b": "C", "c": "C", "d": "B", Queue: "A"},
		},
		{
			name: "the queue goes to who has the fewest", members: []member{at(1, "A", "a"), at(2, "B", "a")},
			owners: map[string]string{"a": "A"},
			want:   map[string]string{"a": "A", Queue: "B"},
		},
		{
			name: "what one alone knows goes there", members: []member{at(1, "A", "a", "b"), at(2, "B", "a", "b", "new", "newer")},
			owners: map[string]string{"a": "A", "b": "B", Queue: "A"},
			want:   map[string]string{"a": "A", "b": "A", "new": "B", "newer": "B", Queue: "A"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, plan(test.members, test.owners)); diff != "" {
				t.Errorf("plan (want -, got +):\n%s", diff)
			}
		})
	}
}

// TestPlanProperties: whoever lives and whoever owns, a plan gives each share
// to one who can own it, evenly, moves none without need, and leads to itself.
func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := names("s", rapid.IntRange(0, 12).Draw(t, "shares"))
		people := names("I", rapid.IntRange(1, 6).Draw(t, "instances"))
		var members []member
		for _, id := range people[:rapid.IntRange(1, len(people)).Draw(t, "live")] {
			members = append(members, member{id: id, since: time.Unix(rapid.Int64Range(0, 2).Draw(t, "since"), 0), shares: shares})
		}
		owners := make(map[string]string)
		for _, share := range append(slices.Clone(shares), Queue) {
			if owner := rapid.SampledFrom(append([]string{""}, people...)).Draw(t, "owner"); owner != "" {
				owners[share] = owner
			}
		}
		got := plan(members, owners)
		if len(got) != len(shares)+1 {
			t.Fatalf("%d shares planned, want %d", len(got), len(shares)+1)
		}
		count, owned := make(map[string]int), make(map[string]int)
		for _, share := range shares {
			count[got[share]]++
			owned[owners[share]]++
		}
		least, most, moved, free := len(shares), 0, 0, len(shares)
		for _, m := range members {
			least, most = min(least, count[m.id]), max(most, count[m.id])
			free -= owned[m.id]
		}
		if most-least > 1 {
			t.Fatalf("from %d to %d shares for each, want a difference of at most 1", least, most)
		}
		for _, share := range shares {
			if isMember(members, owners[share]) && got[share] != owners[share] {
				moved++
			}
		}
		if need := needed(members, owned, len(shares)); moved > need {
			t.Fatalf("%d shares moved from live owners, want %d", moved, need)
		}
		if isMember(members, owners[Queue]) && got[Queue] != owners[Queue] {
			t.Fatalf("the queue moved from a live owner")
		}
		if again := plan(members, got); !maps.Equal(got, again) {
			t.Fatalf("carried out, the plan changes from %v to %v", got, again)
		}
		shuffled := rapid.Permutation(members).Draw(t, "order")
		if other := plan(shuffled, owners); !maps.Equal(got, other) {
			t.Fatalf("in another order, the plan changes from %v to %v", got, other)
		}
	})
}

// needed is the fewest moves from live owners that make the shares even: what
// each has beyond the floor, less one for each of those who may have the ceiling.
func needed(members []member, owned map[string]int, shares int) int {
	floor, ceilings, moves := shares/len(members), shares%len(members), 0
	for _, m := range members {
		beyond := owned[m.id] - floor
		if beyond > 0 && ceilings > 0 {
			beyond--
			ceilings--
		}
		moves += max(beyond, 0)
	}
	return moves
}

// TestPlanOfDifferentCatalogs: what somebody knows is planned for somebody who
// knows it, and carrying the plan out leads to itself.
func TestPlanOfDifferentCatalogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := names("s", rapid.IntRange(1, 8).Draw(t, "shares"))
		var members []member
		known := make(map[string]bool)
		for _, id := range names("I", rapid.IntRange(1, 4).Draw(t, "instances")) {
			m := member{id: id, since: time.Unix(1, 0)}
			for _, share := range shares {
				if rapid.Bool().Draw(t, "knows") {
					m.shares = append(m.shares, share)
					known[share] = true
				}
			}
			members = append(members, m)
		}
		owners := make(map[string]string)
		for _, share := range shares {
			owners[share] = rapid.SampledFrom(members).Draw(t, "owner").id
		}
		got := plan(members, owners)
		for share := range known {
			i := slices.IndexFunc(members, func(m member) bool { return m.id == got[share] })
			if i < 0 || !slices.Contains(members[i].shares, share) {
				t.Fatalf("%s is planned for %q, who does not know it", share, got[share])
			}
		}
		for range 2 * len(shares) { // each round is carried out in full
			next := plan(members, got)
			if maps.Equal(got, next) {
				return
			}
			got = next
		}
		t.Fatalf("the plan never comes to rest: %v", got)
	})
}

func isMember(members []member, id string) bool {
	return slices.ContainsFunc(members, func(m member) bool { return m.id == id })
}

func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(prefix, i)
	}
	return out
}
