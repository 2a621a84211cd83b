package bulk_test

import (
	"context"
	"sync/atomic"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// stuck starts a bulk replay of n dead letters that do not end, and waits until
// it has asked for what it may.
func (f *fixture) stuck(n int) *dlq.Bulk {
	f.T.Helper()
	b := f.start(f.Reviewable(n)...)
	f.Eventually("it asked for its canary", func() bool { return f.Now(b).Replaying == min(n, 5) })
	return b
}

// TestStuckBulksLeaveTheirPlaces: bulk replays that have nothing more to ask for,
// because all was asked for, somebody cancelled them or all of it waits for a target that
// is out, hold up no other, however many they are.
func TestStuckBulksLeaveTheirPlaces(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t)
	mend := f.out()
	f.Review()
	var all, cancelled []*dlq.Bulk
	for range 3 {
		all = append(all, f.stuck(1)) // nothing is left to ask for
		b := f.stuck(7)               // of which five go first
		if _, err := f.Queue.CancelBulk(t.Context(), b.ID, dlqtest.Operator, "wrong"); err != nil {
			t.Fatal(err)
		}
		cancelled = append(cancelled, b)
	}
	for range 5 {
		all = append(all, f.stuck(7))
	}
	other := f.Letter("orgOutbox", "SkillRecognitionRevoked", "org-other", 1)
	other.PendingTargets = []string{"ELSEWHERE"}
	f.Bury(other)
	f.Ends(f.Bulk(dlq.Filter{EventID: other.EventID}, 100), dlq.BulkDone)
	mend()
	for _, b := range all {
		f.Ends(b, dlq.BulkDone)
	}
	for _, b := range cancelled {
		if got := f.Ends(b, dlq.BulkCancelled); got.Delivered != 5 || got.Waiting != 2 {
			t.Errorf("%v, want five delivered and two waiting", dlqtest.Numbers(got))
		}
	}
}

// TestNoMoreThanFourBulksAsk: a fifth waits until one of them has asked for all.
func TestNoMoreThanFourBulksAsk(t *testing.T) {
	f := setup(t)
	f.Lanes.Follow(func(ctx context.Context, _ *dlq.Item, _ int) (dlq.Round, error) {
		<-ctx.Done()
		return dlq.Round{}, ctx.Err()
	})
	f.Review()
	var four []*dlq.Bulk
	for range 4 {
		four = append(four, f.stuck(7))
	}
	f.Reviewable(1)
	fifth := f.Bulk(dlqtest.Granted, 100)
	if n := f.Settles("it waits", func() int { return f.Now(fifth).Replaying }); n != 0 {
		t.Errorf("the fifth asked for %d, want none while four have more to ask for", n)
	}
	if _, err := f.Queue.CancelBulk(t.Context(), four[2].ID, dlqtest.Operator, "wrong"); err != nil {
		t.Fatal(err)
	}
	f.Eventually("the fifth has its place", func() bool { return f.Now(fifth).Replaying > 0 })
}

// recordless is a store that counts the dead letters that are read with their
// records, those apart that are read one by one.
type recordless struct {
	dlq.Store
	records atomic.Int64
}

func (s *recordless) see(collection string, docs []dlq.Doc) {
	for _, d := range docs {
		if _, ok := d.Fields[contracts.DeadFieldRecord]; ok && collection == contracts.CollectionDeadLetters {
			s.records.Add(1)
		}
	}
}

func (s *recordless) Get(ctx context.Context, collection string, ids ...string) ([]dlq.Doc, error) {
	docs, err := s.Store.Get(ctx, collection, ids...)
	if len(ids) > 1 {
		s.see(collection, docs)
	}
	return docs, err
}

func (s *recordless) Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
	docs, err := s.Store.Query(ctx, q)
	s.see(q.Collection, docs)
	return docs, err
}

// TestBulkReadsNoRecords: many dead letters at once are read without them, as each
// may be as large as a document can be.
func TestBulkReadsNoRecords(t *testing.T) {
	f := setup(t)
	store := &recordless{Store: f.Store}
	f.Queue = f.NewQueue(store)
	var ids []string
	for _, i := range f.Reviewable(40) {
		ids = append(ids, i.ID)
	}
	b, err := f.Queue.StartBulk(t.Context(), dlq.BulkRequest{IDs: ids, RatePerSecond: 1000, Actor: dlqtest.Operator})
	if err != nil {
		t.Fatal(err)
	}
	f.Review()
	if got := f.Ends(b, dlq.BulkDone); got.Delivered != len(ids) {
		t.Errorf("%v, want all delivered", dlqtest.Numbers(got))
	}
	if n := store.records.Load(); n != 0 {
		t.Errorf("%d records were read, want none", n)
	}
}
