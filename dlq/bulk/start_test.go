package bulk_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// order is a request of the dlqtest.Operator's.
func order(change func(*dlq.BulkRequest)) dlq.BulkRequest {
	r := dlq.BulkRequest{RatePerSecond: 1000, Actor: dlqtest.Operator, Reason: "mended"}
	change(&r)
	return r
}

func (f *fixture) bulks() []string {
	f.T.Helper()
	p, err := f.Queue.Bulks(f.T.Context(), dlq.Page{})
	if err != nil {
		f.T.Fatal(err)
	}
	ids := []string{}
	for _, b := range p.Items {
		ids = append(ids, b.ID)
	}
	return ids
}

func TestBulkOfPickedDeadLetters(t *testing.T) {
	f := setup(t)
	all := f.Reviewable(4)
	blocked := f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Decide(all[3].ID, dlq.Discard, dlqtest.Operator)
	ids := []string{all[2].ID, all[0].ID, all[0].ID, all[3].ID, blocked.ID, "nowhere", "a/b"}
	s, err := f.Queue.Select(t.Context(), dlq.Filter{}, ids...)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"closed": 1, "SECURITY_BLOCK: each of these is decided by itself": 1, "gone: there is no dead letter of that ID": 2}
	if diff := cmp.Diff(want, s.Refused); diff != "" || len(s.Items) != 2 {
		t.Errorf("%d selected, left out (-want +got):\n%s", len(s.Items), diff)
	}
	b, err := f.Queue.StartBulk(t.Context(), order(func(r *dlq.BulkRequest) { r.IDs, r.Pin = ids, s.Pin }))
	if err != nil {
		t.Fatal(err)
	}
	f.Review()
	if got := f.Ends(b, dlq.BulkDone); got.Delivered != 2 || !got.Picked || f.Lanes.Count(all[1].ID) != 0 {
		t.Errorf("%v, picked %t, %d rounds of what was not picked", dlqtest.Numbers(got), got.Picked, f.Lanes.Count(all[1].ID))
	}
	_, err = f.Queue.Select(t.Context(), dlqtest.Granted, all[0].ID)
	dlqtest.Refused(t, err, dlq.Invalid)
	_, err = f.Queue.Select(t.Context(), dlq.Filter{}, make([]string, dlq.MaxPicked)...)
	if err != nil {
		t.Errorf("%v for the same ID many times", err)
	}
}

// The moment of its start is one and the same in the answer, in its document and in the list.
func TestStartTellsTheMomentThatIsStored(t *testing.T) {
	f := setup(t)
	f.Reviewable(1)
	b, err := f.Queue.StartBulk(t.Context(), order(func(r *dlq.BulkRequest) { r.Filter = dlqtest.Granted }))
	if err != nil {
		t.Fatal(err)
	}
	if stored := f.Now(b).CreatedAt; !stored.Equal(b.CreatedAt) {
		t.Errorf("it began at %v by the answer, and at %v by what is stored", b.CreatedAt, stored)
	}
}

func TestPinHoldsForWhatWasLookedAtAlone(t *testing.T) {
	f := setup(t)
	all := f.Reviewable(3)
	select3, err := f.Queue.Select(t.Context(), dlqtest.Granted)
	if err != nil {
		t.Fatal(err)
	}
	start := func(pin string) error {
		_, err := f.Queue.StartBulk(t.Context(), order(func(r *dlq.BulkRequest) { r.Filter, r.Pin = dlqtest.Granted, pin }))
		return err
	}
	for _, damaged := range []string{"x", "a.b.c", "3.!.y"} {
		dlqtest.Refused(t, start(damaged), dlq.Invalid)
	}
	f.Die("orgOutbox", "SkillRecognitionGranted", "org-later", 1)
	f.Decide(all[0].ID, dlq.Discard, dlqtest.Operator)
	f.Decide(all[1].ID, dlq.Note, dlqtest.Operator)
	err = start(select3.Pin)
	dlqtest.Refused(t, err, dlq.Changed)
	want := "it is not what you looked at any more: of 3 dead letters 1 are as they were, 2 went or changed, and 2 came or changed since"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if ids := f.bulks(); len(ids) != 0 {
		t.Errorf("%d bulk replays, want none", len(ids))
	}
	again, err := f.Queue.Select(t.Context(), dlqtest.Granted)
	if err != nil {
		t.Fatal(err)
	}
	if err := start(again.Pin); err != nil {
		t.Errorf("the pin of a fresh look: %v", err)
	}
}

func TestSameKeyStartsOneBulk(t *testing.T) {
	f := setup(t)
	f.Reviewable(20)
	s, err := f.Queue.Select(t.Context(), dlqtest.Granted)
	if err != nil {
		t.Fatal(err)
	}
	request := order(func(r *dlq.BulkRequest) { r.Filter, r.Pin, r.Key = dlqtest.Granted, s.Pin, "once" })
	f.Review() // it changes what is selected while others still ask
	var mu sync.Mutex
	got := make(map[string]bool)
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			b, err := f.Queue.StartBulk(t.Context(), request)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got[b.ID] = true
		})
	}
	g.Wait()
	ids := f.bulks()
	if len(ids) != 1 || len(got) != 1 || !got[ids[0]] {
		t.Fatalf("started %v, answered with %v; want one", ids, got)
	}
	b, err := f.Queue.Bulk(t.Context(), ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if ended := f.Ends(b, dlq.BulkDone); ended.Delivered != 20 {
		t.Errorf("%v, want all delivered", dlqtest.Numbers(ended))
	}
	if again, err := f.Queue.StartBulk(t.Context(), request); err != nil || again.ID != b.ID {
		t.Errorf("sent again after its end: %v, %v", again, err)
	}
	request.RatePerSecond = 7
	_, err = f.Queue.StartBulk(t.Context(), request)
	dlqtest.Refused(t, err, dlq.Conflict)
	request.Actor = dlqtest.Security
	_, err = f.Queue.StartBulk(t.Context(), request) // another's key is another key: and there is nothing left
	dlqtest.Refused(t, err, dlq.Changed)
}

func TestBulkNamesWhatFailed(t *testing.T) {
	f := setup(t)
	all := f.Reviewable(30)
	failAfter := f.FailsLate(all[7], all[20])
	b := f.Bulk(dlqtest.Granted, 1000)
	f.Review()
	failAfter(b)
	got := f.Ends(b, dlq.BulkDone)
	if diff := cmp.Diff([]string{all[7].ID, all[20].ID}, got.FailedIDs); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
}

// overtaken is a Store under which something happens once: before the first query
// for dead letters, or before the first commit.
type overtaken struct {
	dlq.Store
	beforeQuery, beforeCommit func()
}

func (s *overtaken) Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
	if happen := s.beforeQuery; happen != nil && q.Collection == contracts.CollectionDeadLetters {
		s.beforeQuery = nil
		happen()
	}
	return s.Store.Query(ctx, q)
}

func (s *overtaken) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	if happen := s.beforeCommit; happen != nil {
		s.beforeCommit = nil
		happen()
	}
	return s.Store.Commit(ctx, writes)
}

func TestSameKeyIsAnsweredWithTheFasterOne(t *testing.T) {
	f := setup(t)
	all := f.Reviewable(3)
	s, err := f.Queue.Select(t.Context(), dlqtest.Granted)
	if err != nil {
		t.Fatal(err)
	}
	request := order(func(r *dlq.BulkRequest) { r.Filter, r.Pin, r.Key = dlqtest.Granted, s.Pin, "once" })
	var first *dlq.Bulk
	faster := func(change func(*dlq.BulkRequest)) func() {
		return func() {
			r := request
			change(&r)
			if first, err = f.Queue.StartBulk(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
	}
	slow := f.NewQueue(&overtaken{Store: f.Store, beforeQuery: func() {
		faster(func(*dlq.BulkRequest) {})()
		f.Decide(all[0].ID, dlq.Note, dlqtest.Operator) // so that what is selected is not what was pinned
	}})
	if got, err := slow.StartBulk(t.Context(), request); err != nil || got.ID != first.ID {
		t.Errorf("got %v, %v; want the one that was faster", got, err)
	}
	request.Key, request.Pin = "another", ""
	slow = f.NewQueue(&overtaken{Store: f.Store, beforeCommit: faster(func(*dlq.BulkRequest) {})})
	if got, err := slow.StartBulk(t.Context(), request); err != nil || got.ID != first.ID {
		t.Errorf("got %v, %v; want the one that was faster", got, err)
	}
	request.Key = "a third"
	slow = f.NewQueue(&overtaken{Store: f.Store, beforeCommit: faster(func(r *dlq.BulkRequest) { r.RatePerSecond = 7 })})
	_, err = slow.StartBulk(t.Context(), request)
	dlqtest.Refused(t, err, dlq.Conflict)
	if ids := f.bulks(); len(ids) != 3 {
		t.Errorf("%d bulk replays, want one for each key", len(ids))
	}
	f.Review()
	f.Ends(first, dlq.BulkDone) // its pinned items are its own
}
