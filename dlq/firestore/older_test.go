package firestore_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/dlq"
)

// of buries a dead letter of consumer, or of the relay's own.
func (f *fixture) of(consumer, aggregate string, version int64) *dlq.Item {
	f.t.Helper()
	i := f.letter("orgOutbox", "SkillRecognitionGranted", aggregate, version)
	i.Consumer = consumer
	return f.bury(i)
}

func ids(items []*dlq.Item) []string {
	out := make([]string, len(items))
	for n, i := range items {
		out[n] = i.ID
	}
	return out
}

// Whoever else has dead letters of the aggregate, what comes before one is found.
func testOlder(t *testing.T, f *fixture) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, tc := range []struct {
		name  string
		owner []string // of the versions in a row
	}{
		{"one other", []string{"a", "a", "a", "a", "a", "a", "a", "a"}},
		{"behind another's", []string{"a", "a", "a", "a", "a", "a", "b", "a", "a"}},
		{"the relay's behind others", []string{"a", "b", "a", "b", "a", "b", "a", "", "a", "b"}},
		{"the relay's among the first", []string{"", "a", "a", "a", "a", "a", "b", "b"}},
		{"the relay's among the first and behind", []string{"", "a", "a", "a", "a", "a", "b", "", "", "b"}},
		{"the relay's alone", []string{"", "", "", "", "", "", ""}},
		{"any", nil},
		{"any more", nil},
		{"still more", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for tc.owner == nil || len(tc.owner) < 12 && random.IntN(12) > 0 {
				tc.owner = append(tc.owner, []string{"", "a", "a", "a", "b", "b"}[random.IntN(6)])
			}
			var all []*dlq.Item
			for n, owner := range tc.owner {
				all = append(all, f.of(owner, tc.name, int64(n+1)))
			}
			for _, consumer := range []string{"", "a", "b", "c"} {
				item := *all[0]
				item.Consumer, item.AggregateVersion = consumer, int64(len(all)+1)
				want := ids(slices.DeleteFunc(slices.Clone(all), func(i *dlq.Item) bool { return i.Consumer != "" && i.Consumer != consumer }))
				want = want[:min(5, len(want))]
				older, err := f.queue.Older(t.Context(), &item)
				if diff := cmp.Diff(want, ids(older)); diff != "" || err != nil {
					t.Errorf("before one of %q among %q: %v (-want +got)\n%s", consumer, tc.owner, err, diff)
				}
				first, err := f.queue.Before(t.Context(), &item)
				if err != nil || (first == nil) != (len(want) == 0) || first != nil && first.ID != want[0] {
					t.Errorf("before one of %q among %q: %v, %v, want the first of %q", consumer, tc.owner, first, err, want)
				}
			}
		})
	}
}

// reading is a Store that counts what its queries read.
type reading struct {
	dlq.Store
	docs int
}

func (s *reading) Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
	docs, err := s.Store.Query(ctx, q)
	s.docs += max(1, len(docs))
	return docs, err
}

func (s *reading) Counts(ctx context.Context, qs ...dlq.Query) ([]int64, error) {
	counts, err := s.Store.Counts(ctx, qs...)
	for _, n := range counts {
		s.docs += max(1, int(n+999)/1000)
	}
	return counts, err
}

// However many another consumer has of the aggregate, what one replay reads to find what
// comes before it is the same; and where there are few, one query.
func testOlderReads(t *testing.T, f *fixture) {
	const others = 60
	store := &reading{Store: f.store}
	queue := f.newQueue(store)
	asked := func(item *dlq.Item) int {
		t.Helper()
		store.docs = 0
		if older, err := queue.Older(t.Context(), item); err != nil || len(older) > 0 {
			t.Errorf("%v and %v come first, want nothing", ids(older), err)
		}
		if before, err := queue.Before(t.Context(), item); err != nil || before != nil {
			t.Errorf("%v and %v comes first, want nothing", before, err)
		}
		return store.docs
	}
	if got := asked(f.of("mail", "alone", 9)); got != 2 {
		t.Errorf("one alone reads %d, want 2", got)
	}
	for v := range int64(others) {
		f.of("audits", "b", v+1)
	}
	if got := asked(f.of("mail", "b", others+1)); got > 12 {
		t.Errorf("a consumer's, beside %d of another, reads %d, want 12 at most", others, got)
	}
	if got := asked(f.of("", "b", others+2)); got > 10 {
		t.Errorf("one of the relay's, beside %d of a consumer, reads %d, want 10 at most", others, got)
	}
}
