package dlq_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// reviewable makes n dead letters that wait for a review, each of its own aggregate.
func (f *fixture) reviewable(n int) []*dlq.Item {
	f.t.Helper()
	var all []*dlq.Item
	for k := range n {
		all = append(all, f.letter("orgOutbox", "SkillRecognitionGranted", fmt.Sprintf("org-%04d", k), 1))
	}
	f.bury(all...)
	return all
}

// granted is a filter for them.
var granted = dlq.Filter{EventType: "SkillRecognitionGranted"}

func (f *fixture) bulk(filter dlq.Filter, perSecond float64) *dlq.Bulk {
	f.t.Helper()
	b, err := f.queue.StartBulk(f.t.Context(), dlq.BulkRequest{Filter: filter, RatePerSecond: perSecond, Actor: operator, Reason: "mended"})
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

func (f *fixture) now(b *dlq.Bulk) *dlq.Bulk {
	f.t.Helper()
	got, err := f.queue.Bulk(f.t.Context(), b.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	return got
}

// ends waits until the bulk replay has a state and nothing of it is under way.
func (f *fixture) ends(b *dlq.Bulk, want dlq.BulkState) *dlq.Bulk {
	f.t.Helper()
	var got *dlq.Bulk
	f.eventually("the bulk replay is "+string(want), func() bool {
		if got = f.now(b); got.State != want && got.State != dlq.BulkRunning {
			f.t.Fatalf("the bulk replay is %s (%s), want it %s", got.State, got.EndReason, want)
		}
		return got.State == want && got.Replaying == 0
	})
	return got
}

// failsLate lets the replays of these items fail, once the function that it returns
// saw so many of b delivered that two failures are not too many of them.
func (f *fixture) failsLate(failing ...*dlq.Item) (after func(b *dlq.Bulk)) {
	enough := make(chan struct{})
	f.lanes.follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if !slices.ContainsFunc(failing, func(other *dlq.Item) bool { return other.ID == i.ID }) {
			return dlq.Round{Acked: i.PendingTargets}, nil
		}
		select {
		case <-enough:
			return fails(i), nil
		case <-ctx.Done():
			return dlq.Round{}, ctx.Err()
		}
	})
	return func(b *dlq.Bulk) {
		f.t.Helper()
		f.eventually("enough are delivered", func() bool { return f.now(b).Delivered >= 10 })
		close(enough)
	}
}

// numbers are a bulk replay's, to compare.
func numbers(b *dlq.Bulk) map[string]int {
	return map[string]int{"total": b.Total, "delivered": b.Delivered, "failed": b.Failed, "skipped": b.Skipped, "replaying": b.Replaying, "waiting": b.Waiting}
}

func refused(t *testing.T, err error, want dlq.RefusalKind) {
	t.Helper()
	if r, ok := errors.AsType[*dlq.Refusal](err); !ok || r.Kind != want {
		t.Errorf("got %v, want a refusal that is %s", err, want)
	}
}

func TestSelectTakesWhatCanBeReplayed(t *testing.T) {
	f := setup(t)
	second := f.die("orgOutbox", "SkillRecognitionGranted", "a", 2)
	first := f.die("orgOutbox", "SkillRecognitionGranted", "a", 1)
	other := f.die("orgOutbox", "SkillRecognitionGranted", "b", 1)
	replaying := f.die("orgOutbox", "SkillRecognitionGranted", "c", 1)
	f.decide(replaying.ID, dlq.Replay, operator)
	discarded := f.die("orgOutbox", "SkillRecognitionGranted", "d", 1)
	f.decide(discarded.ID, dlq.Discard, operator)
	f.die("accOutbox", "RoleChanged", "acc-1", 1)
	s, err := f.queue.Select(t.Context(), dlq.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range s.Items {
		got = append(got, i.ID)
		if i.Record != nil {
			t.Errorf("%s comes with its record", i.ID)
		}
	}
	if diff := cmp.Diff([]string{first.ID, second.ID, other.ID}, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	left := 0
	for _, n := range s.Refused {
		left += n
	}
	if left != 2 || len(s.Refused) != 2 {
		t.Errorf("left out %v, want one blocked and one being replayed", s.Refused)
	}
}

func TestBulkRequestsThatMakeNoSense(t *testing.T) {
	f := setup(t)
	f.reviewable(1)
	closed := false
	for _, c := range []struct {
		name    string
		request dlq.BulkRequest
		want    dlq.RefusalKind
	}{
		{"a viewer", dlq.BulkRequest{Actor: dlq.Actor{Name: "vera", Role: dlq.Viewer}}, dlq.Forbidden},
		{"closed ones", dlq.BulkRequest{Actor: operator, Filter: dlq.Filter{Open: &closed}}, dlq.Invalid},
		{"an odd filter", dlq.BulkRequest{Actor: operator, Filter: dlq.Filter{Tier: "X"}}, dlq.Invalid},
		{"a negative rate", dlq.BulkRequest{Actor: operator, RatePerSecond: -1}, dlq.Invalid},
		{"a rate beyond all bounds", dlq.BulkRequest{Actor: operator, RatePerSecond: dlq.MaxBulkRate + 1}, dlq.Invalid},
		{"a long reason", dlq.BulkRequest{Actor: operator, Reason: strings.Repeat("x", 901)}, dlq.Invalid},
		{"nothing matches", dlq.BulkRequest{Actor: operator, Filter: dlq.Filter{Outbox: "nowhere"}}, dlq.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := f.queue.StartBulk(t.Context(), c.request)
			refused(t, err, c.want)
		})
	}
	p, err := f.queue.Bulks(t.Context(), dlq.Page{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Items) != 0 {
		t.Errorf("%d bulk replays, want none", len(p.Items))
	}
}

func TestBulkReplaysWhatWasPinned(t *testing.T) {
	f := setup(t)
	pinned := f.reviewable(30)
	b := f.bulk(granted, 500)
	later := f.die("orgOutbox", "SkillRecognitionGranted", "org-later", 1)
	f.review()
	got := f.ends(b, dlq.BulkDone)
	want := map[string]int{"total": 30, "delivered": 30, "failed": 0, "skipped": 0, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, numbers(got)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if got.EndedAt.IsZero() || got.EndReason == "" || got.Phase != dlq.PhaseRamp || got.By != operator || got.Reason != "mended" {
		t.Errorf("ended as %+v", got)
	}
	if diff := cmp.Diff(granted, got.Filter); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	for _, i := range pinned {
		if l := f.item(i.ID).LastReplay; l == nil || l.Bulk != b.ID || l.By != operator.Name {
			t.Errorf("%s: last replay %+v, want one of the bulk replay", i.ID, l)
		}
	}
	if n := f.lanes.count(later.ID); n != 0 {
		t.Errorf("%d replays of what was not pinned", n)
	}
	p, err := f.queue.Audit(t.Context(), dlq.AuditFilter{On: b.ID}, dlq.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range p.Items {
		actions = append(actions, e.Actor+" "+e.Action)
	}
	if diff := cmp.Diff([]string{"relay finish", operator.Name + " start"}, actions); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestBulkSurvivesItsRunner(t *testing.T) {
	f := setup(t)
	f.patience = 3 * time.Minute // it is a lot of work for a busy machine
	size := thorough.Bulk(t)
	pinned := f.reviewable(size)
	var outside []*dlq.Item
	for k := range 20 {
		outside = append(outside, f.letter("orgOutbox", "SkillRecognitionRevoked", fmt.Sprint("other-", k), 1))
	}
	f.bury(outside...)
	killed := make(chan struct{}) // twice; the last quarter waits for that
	f.lanes.follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if f.lanes.total() > size*3/4 {
			select {
			case <-killed:
			case <-ctx.Done():
				return dlq.Round{}, ctx.Err()
			}
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	b := f.bulk(granted, dlq.MaxBulkRate)
	for _, until := range []int{size / 10, size / 2} {
		f.queue = f.newQueue(f.store)
		kill := f.review()
		f.eventually(fmt.Sprint(until, " rounds"), func() bool { return f.lanes.total() >= until })
		kill()
	}
	close(killed)
	if got := f.now(b); got.State != dlq.BulkRunning || got.Delivered >= size {
		t.Fatalf("%s with %d delivered after the second kill, want it to be under way", got.State, got.Delivered)
	}
	f.queue = f.newQueue(f.store)
	f.review()
	got := f.ends(b, dlq.BulkDone)
	want := map[string]int{"total": size, "delivered": size, "failed": 0, "skipped": 0, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, numbers(got)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	for _, i := range pinned {
		if got := f.item(i.ID); got.State != contracts.DeadReplayed || got.Replays != 1 {
			t.Errorf("%s is %s after %d replays, want replayed after 1", i.ID, got.State, got.Replays)
		}
	}
	for _, i := range outside {
		if n := f.lanes.count(i.ID); n != 0 || f.item(i.ID).State != contracts.DeadAwaitingReview {
			t.Errorf("%s outside the selection was touched: %d rounds", i.ID, n)
		}
	}
}

func TestBulkCountsFailuresAcrossARestart(t *testing.T) {
	f := setup(t)
	all := f.reviewable(40)
	failAfter := f.failsLate(all[10], all[20])
	b := f.bulk(granted, 20)
	kill := f.review()
	failAfter(b)
	f.eventually("the first failure", func() bool { return f.item(all[10].ID).Replays == 1 })
	kill()
	// Somebody else replays the failed one meanwhile: it stays a failure of the bulk replay.
	f.decide(all[10].ID, dlq.Replay, security)
	if _, err := f.queue.End(t.Context(), f.item(all[10].ID), dlq.Result{Acked: []string{"FUNNEL"}}); err != nil {
		t.Fatal(err)
	}
	f.queue = f.newQueue(f.store)
	f.review()
	got := f.ends(b, dlq.BulkDone)
	want := map[string]int{"total": 40, "delivered": 38, "failed": 2, "skipped": 0, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, numbers(got)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

func TestBulkPassesOverWhatChanged(t *testing.T) {
	f := setup(t)
	all := f.reviewable(6)
	b := f.bulk(granted, 1000)
	f.decide(all[0].ID, dlq.Discard, operator)
	f.decide(all[1].ID, dlq.Replay, operator) // by a person
	f.decide(all[2].ID, dlq.Note, operator)   // which is no change
	again := *all[3]
	again.DeadAt = again.DeadAt.Add(time.Second) // died again
	if _, err := f.store.Commit(t.Context(), []dlq.Write{{Collection: contracts.CollectionDeadLetters, ID: again.ID, Op: dlq.OpSet, Fields: again.Fields()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.Commit(t.Context(), []dlq.Write{{Collection: contracts.CollectionDeadLetters, ID: all[4].ID, Op: dlq.OpDelete}}); err != nil {
		t.Fatal(err)
	}
	f.review()
	got := f.ends(b, dlq.BulkDone)
	want := map[string]int{"total": 6, "delivered": 2, "failed": 0, "skipped": 4, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, numbers(got)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if f.item(again.ID).State != contracts.DeadAwaitingReview {
		t.Error("what died again was replayed")
	}
}

func TestBulkKeepsTheOrderOfAnAggregate(t *testing.T) {
	t.Run("one after another", func(t *testing.T) {
		f := setup(t)
		var all []*dlq.Item
		for v := range 12 {
			all = append(all, f.letter("orgOutbox", "SkillRecognitionGranted", "org-1", int64(v)))
		}
		shuffled := slices.Clone(all)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		f.bury(shuffled...)
		b := f.bulk(granted, 1000)
		f.review()
		f.ends(b, dlq.BulkDone)
		var want []string
		for _, i := range all {
			want = append(want, i.ID)
		}
		if diff := cmp.Diff(want, f.lanes.sequence()); diff != "" {
			t.Errorf("order of replays (-want +got):\n%s", diff)
		}
	})
	t.Run("behind one that fails", func(t *testing.T) {
		f := setup(t)
		older := f.die("orgOutbox", "SkillRecognitionGranted", "org-1", 1)
		younger := f.die("orgOutbox", "SkillRecognitionGranted", "org-1", 2)
		f.lanes.follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
			if i.ID == older.ID {
				return fails(i), nil
			}
			return dlq.Round{Acked: i.PendingTargets}, nil
		})
		b := f.bulk(granted, 1000)
		f.review()
		got := f.ends(b, dlq.BulkDone)
		want := map[string]int{"total": 2, "delivered": 0, "failed": 1, "skipped": 1, "replaying": 0, "waiting": 0}
		if diff := cmp.Diff(want, numbers(got)); diff != "" {
			t.Errorf("numbers (-want +got):\n%s", diff)
		}
		if f.lanes.count(younger.ID) != 0 {
			t.Error("the younger one overtook the older")
		}
	})
	t.Run("behind one that is not selected", func(t *testing.T) {
		f := setup(t)
		f.die("orgOutbox", "SkillRecognitionRevoked", "org-1", 1)
		f.die("orgOutbox", "SkillRecognitionGranted", "org-1", 2)
		b := f.bulk(granted, 1000)
		f.review()
		if got := f.ends(b, dlq.BulkDone); got.Skipped != 1 || f.lanes.total() != 0 {
			t.Errorf("%v, %d rounds; want it skipped", numbers(got), f.lanes.total())
		}
	})
}

func TestBulksAreListedLatestFirst(t *testing.T) {
	f := setup(t)
	f.reviewable(1)
	var want []string
	for range 5 {
		want = append([]string{f.bulk(granted, 1000).ID}, want...)
	}
	var got []string
	for p := (dlq.Page{Limit: 2}); ; {
		found, err := f.queue.Bulks(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range found.Items {
			got = append(got, b.ID)
		}
		if p.Token = found.Next; p.Token == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bulk replays (-want +got):\n%s", diff)
	}
}
