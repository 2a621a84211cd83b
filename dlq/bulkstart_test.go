package dlq_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// order is a request of the operator's.
func order(change func(*dlq.BulkRequest)) dlq.BulkRequest {
	r := dlq.BulkRequest{RatePerSecond: 1000, Actor: operator, Reason: "mended"}
	change(&r)
	return r
}

func (f *fixture) bulks() []string {
	f.t.Helper()
	p, err := f.queue.Bulks(f.t.Context(), dlq.Page{})
	if err != nil {
		f.t.Fatal(err)
	}
	ids := []string{}
	for _, b := range p.Items {
		ids = append(ids, b.ID)
	}
	return ids
}

func TestBulkOfPickedDeadLetters(t *testing.T) {
	f := setup(t)
	all := f.reviewable(4)
	blocked := f.die("accOutbox", "RoleChanged", "acc-1", 1)
	f.decide(all[3].ID, dlq.Discard, operator)
	ids := []string{all[2].ID, all[0].ID, all[0].ID, all[3].ID, blocked.ID, "nowhere", "a/b"}
	s, err := f.queue.Select(t.Context(), dlq.Filter{}, ids...)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"closed": 1, "SECURITY_BLOCK: each of these is decided by itself": 1, "gone: there is no dead letter of that ID": 2}
	if diff := cmp.Diff(want, s.Refused); diff != "" || len(s.Items) != 2 {
		t.Errorf("%d selected, left out (-want +got):\n%s", len(s.Items), diff)
	}
	b, err := f.queue.StartBulk(t.Context(), order(func(r *dlq.BulkRequest) { r.IDs, r.Pin = ids, s.Pin }))
	if err != nil {
		t.Fatal(err)
	}
	f.review()
	if got := f.ends(b, dlq.BulkDone); got.Delivered != 2 || !got.Picked || f.lanes.count(all[1].ID) != 0 {
		t.Errorf("%v, picked %t, %d rounds of what was not picked", numbers(got), got.Picked, f.lanes.count(all[1].ID))
	}
	_, err = f.queue.Select(t.Context(), granted, all[0].ID)
	refused(t, err, dlq.Invalid)
	_, err = f.queue.Select(t.Context(), dlq.Filter{}, make([]string, dlq.MaxPicked)...)
	if err != nil {
		t.Errorf("%v for the same ID many times", err)
	}
}

func TestPinHoldsForWhatWasLookedAtAlone(t *testing.T) {
	f := setup(t)
	all := f.reviewable(3)
	select3, err := f.queue.Select(t.Context(), granted)
	if err != nil {
		t.Fatal(err)
	}
	start := func(pin string) error {
		_, err := f.queue.StartBulk(t.Context(), order(func(r *dlq.BulkRequest) { r.Filter, r.Pin = granted, pin }))
		return err
	}
	for _, damaged := range []string{"x", "a.b.c", "3.!.y"} {
		refused(t, start(damaged), dlq.Invalid)
	}
	f.die("orgOutbox", "SkillRecognitionGranted", "org-later", 1)
	f.decide(all[0].ID, dlq.Discard, operator)
	f.decide(all[1].ID, dlq.Note, operator)
	err = start(select3.Pin)
	refused(t, err, dlq.Changed)
	want := "it is not what you looked at any more: of 3 dead letters 1 are as they were, 2 went or changed, and 2 came or changed since"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if ids := f.bulks(); len(ids) != 0 {
		t.Errorf("%d bulk replays, want none", len(ids))
	}
	again, err := f.queue.Select(t.Context(), granted)
	if err != nil {
		t.Fatal(err)
	}
	if err := start(again.Pin); err != nil {
		t.Errorf("the pin of a fresh look: %v", err)
	}
}

func TestSameKeyStartsOneBulk(t *testing.T) {
	f := setup(t)
	f.reviewable(20)
	s, err := f.queue.Select(t.Context(), granted)
	if err != nil {
		t.Fatal(err)
	}
	request := order(func(r *dlq.BulkRequest) { r.Filter, r.Pin, r.Key = granted, s.Pin, "once" })
	f.review() // it changes what is selected while others still ask
	var mu sync.Mutex
	got := make(map[string]bool)
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			b, err := f.queue.StartBulk(t.Context(), request)
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
	b, err := f.queue.Bulk(t.Context(), ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if ended := f.ends(b, dlq.BulkDone); ended.Delivered != 20 {
		t.Errorf("%v, want all delivered", numbers(ended))
	}
	if again, err := f.queue.StartBulk(t.Context(), request); err != nil || again.ID != b.ID {
		t.Errorf("sent again after its end: %v, %v", again, err)
	}
	request.RatePerSecond = 7
	_, err = f.queue.StartBulk(t.Context(), request)
	refused(t, err, dlq.Conflict)
	request.Actor = security
	_, err = f.queue.StartBulk(t.Context(), request) // another's key is another key: and there is nothing left
	refused(t, err, dlq.Changed)
}

func TestBulkNamesWhatFailed(t *testing.T) {
	f := setup(t)
	all := f.reviewable(30)
	failAfter := f.failsLate(all[7], all[20])
	b := f.bulk(granted, 1000)
	f.review()
	failAfter(b)
	got := f.ends(b, dlq.BulkDone)
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
	all := f.reviewable(3)
	s, err := f.queue.Select(t.Context(), granted)
	if err != nil {
		t.Fatal(err)
	}
	request := order(func(r *dlq.BulkRequest) { r.Filter, r.Pin, r.Key = granted, s.Pin, "once" })
	var first *dlq.Bulk
	faster := func(change func(*dlq.BulkRequest)) func() {
		return func() {
			r := request
			change(&r)
			if first, err = f.queue.StartBulk(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
	}
	slow := f.newQueue(&overtaken{Store: f.store, beforeQuery: func() {
		faster(func(*dlq.BulkRequest) {})()
		f.decide(all[0].ID, dlq.Note, operator) // so that what is selected is not what was pinned
	}})
	if got, err := slow.StartBulk(t.Context(), request); err != nil || got.ID != first.ID {
		t.Errorf("got %v, %v; want the one that was faster", got, err)
	}
	request.Key, request.Pin = "another", ""
	slow = f.newQueue(&overtaken{Store: f.store, beforeCommit: faster(func(*dlq.BulkRequest) {})})
	if got, err := slow.StartBulk(t.Context(), request); err != nil || got.ID != first.ID {
		t.Errorf("got %v, %v; want the one that was faster", got, err)
	}
	request.Key = "a third"
	slow = f.newQueue(&overtaken{Store: f.store, beforeCommit: faster(func(r *dlq.BulkRequest) { r.RatePerSecond = 7 })})
	_, err = slow.StartBulk(t.Context(), request)
	refused(t, err, dlq.Conflict)
	if ids := f.bulks(); len(ids) != 3 {
		t.Errorf("%d bulk replays, want one for each key", len(ids))
	}
	f.review()
	f.ends(first, dlq.BulkDone) // its pinned items are its own
}
