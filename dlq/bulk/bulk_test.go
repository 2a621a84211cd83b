package bulk_test

import (
	"context"
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
	"outboxrelay/dlq/dlqtest"
)

func TestSelectTakesWhatCanBeReplayed(t *testing.T) {
	f := setup(t)
	second := f.Die("orgOutbox", "SkillRecognitionGranted", "a", 2)
	first := f.Die("orgOutbox", "SkillRecognitionGranted", "a", 1)
	other := f.Die("orgOutbox", "SkillRecognitionGranted", "b", 1)
	replaying := f.Die("orgOutbox", "SkillRecognitionGranted", "c", 1)
	f.Decide(replaying.ID, dlq.Replay, dlqtest.Operator)
	discarded := f.Die("orgOutbox", "SkillRecognitionGranted", "d", 1)
	f.Decide(discarded.ID, dlq.Discard, dlqtest.Operator)
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	s, err := f.Queue.Select(t.Context(), dlq.Filter{})
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
	f.Reviewable(1)
	closed := false
	for _, c := range []struct {
		name    string
		request dlq.BulkRequest
		want    dlq.RefusalKind
	}{
		{"a viewer", dlq.BulkRequest{Actor: dlq.Actor{Name: "vera", Role: dlq.Viewer}}, dlq.Forbidden},
		{"closed ones", dlq.BulkRequest{Actor: dlqtest.Operator, Filter: dlq.Filter{Open: &closed}}, dlq.Invalid},
		{"an odd filter", dlq.BulkRequest{Actor: dlqtest.Operator, Filter: dlq.Filter{Tier: "X"}}, dlq.Invalid},
		{"a negative rate", dlq.BulkRequest{Actor: dlqtest.Operator, RatePerSecond: -1}, dlq.Invalid},
		{"a rate beyond all bounds", dlq.BulkRequest{Actor: dlqtest.Operator, RatePerSecond: dlq.MaxBulkRate + 1}, dlq.Invalid},
		{"a long reason", dlq.BulkRequest{Actor: dlqtest.Operator, Reason: strings.Repeat("x", 901)}, dlq.Invalid},
		{"nothing matches", dlq.BulkRequest{Actor: dlqtest.Operator, Filter: dlq.Filter{Outbox: "nowhere"}}, dlq.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := f.Queue.StartBulk(t.Context(), c.request)
			dlqtest.Refused(t, err, c.want)
		})
	}
	p, err := f.Queue.Bulks(t.Context(), dlq.Page{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Items) != 0 {
		t.Errorf("%d bulk replays, want none", len(p.Items))
	}
}

func TestBulkReplaysWhatWasPinned(t *testing.T) {
	f := setup(t)
	pinned := f.Reviewable(30)
	b := f.Bulk(dlqtest.Granted, 500)
	later := f.Die("orgOutbox", "SkillRecognitionGranted", "org-later", 1)
	f.Review()
	got := f.Ends(b, dlq.BulkDone)
	want := map[string]int{"total": 30, "delivered": 30, "failed": 0, "skipped": 0, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, dlqtest.Numbers(got)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if got.EndedAt.IsZero() || got.EndReason == "" || got.Phase != dlq.PhaseRamp || got.By != dlqtest.Operator || got.Reason != "mended" {
		t.Errorf("ended as %+v", got)
	}
	if diff := cmp.Diff(dlqtest.Granted, got.Filter); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	for _, i := range pinned {
		if l := f.Item(i.ID).LastReplay; l == nil || l.Bulk != b.ID || l.By != dlqtest.Operator.Name {
			t.Errorf("%s: last replay %+v, want one of the bulk replay", i.ID, l)
		}
	}
	if n := f.Lanes.Count(later.ID); n != 0 {
		t.Errorf("%d replays of what was not pinned", n)
	}
	p, err := f.Queue.Audit(t.Context(), dlq.AuditFilter{On: b.ID}, dlq.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range p.Items {
		actions = append(actions, e.Actor+" "+e.Action)
	}
	if diff := cmp.Diff([]string{"relay finish", dlqtest.Operator.Name + " start"}, actions); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestBulkSurvivesItsRunner(t *testing.T) {
	f := setup(t)
	size := thorough.Bulk(t)
	pinned := f.Reviewable(size)
	var outside []*dlq.Item
	for k := range 20 {
		outside = append(outside, f.Letter("orgOutbox", "SkillRecognitionRevoked", fmt.Sprint("other-", k), 1))
	}
	f.Bury(outside...)
	killed := make(chan struct{}) // twice; the last quarter waits for that
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if f.Lanes.Total() > size*3/4 {
			select {
			case <-killed:
			case <-ctx.Done():
				return dlq.Round{}, ctx.Err()
			}
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	b := f.Bulk(dlqtest.Granted, dlq.MaxBulkRate)
	for _, until := range []int{size / 10, size / 2} {
		f.Queue = f.NewQueue(f.Store)
		kill := f.Review()
		f.Eventually(fmt.Sprint(until, " rounds"), func() bool { return f.Lanes.Total() >= until })
		kill()
	}
	close(killed)
	if got := f.Now(b); got.State != dlq.BulkRunning || got.Delivered >= size {
		t.Fatalf("%s with %d delivered after the second kill, want it to be under way", got.State, got.Delivered)
	}
	f.Queue = f.NewQueue(f.Store)
	f.Review()
	got := f.Ends(b, dlq.BulkDone)
	want := map[string]int{"total": size, "delivered": size, "failed": 0, "skipped": 0, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, dlqtest.Numbers(got)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	for _, i := range pinned {
		if got := f.Item(i.ID); got.State != contracts.DeadReplayed || got.Replays != 1 {
			t.Errorf("%s is %s after %d replays, want replayed after 1", i.ID, got.State, got.Replays)
		}
	}
	for _, i := range outside {
		if n := f.Lanes.Count(i.ID); n != 0 || f.Item(i.ID).State != contracts.DeadAwaitingReview {
			t.Errorf("%s outside the selection was touched: %d rounds", i.ID, n)
		}
	}
}

func TestBulkCountsFailuresAcrossARestart(t *testing.T) {
	f := setup(t)
	all := f.Reviewable(40)
	failAfter := f.FailsLate(all[10], all[20])
	b := f.Bulk(dlqtest.Granted, 20)
	kill := f.Review()
	failAfter(b)
	f.Eventually("the first failure", func() bool { return f.Item(all[10].ID).Replays == 1 })
	kill()
	// Somebody else replays the failed one meanwhile: it stays a failure of the bulk replay.
	f.Decide(all[10].ID, dlq.Replay, dlqtest.Security)
	if _, err := f.Queue.End(t.Context(), f.Item(all[10].ID), dlq.Result{Acked: []string{"FUNNEL"}}); err != nil {
		t.Fatal(err)
	}
	f.Queue = f.NewQueue(f.Store)
	f.Review()
	got := f.Ends(b, dlq.BulkDone)
	want := map[string]int{"total": 40, "delivered": 38, "failed": 2, "skipped": 0, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, dlqtest.Numbers(got)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

func TestBulkPassesOverWhatChanged(t *testing.T) {
	f := setup(t)
	all := f.Reviewable(6)
	b := f.Bulk(dlqtest.Granted, 1000)
	f.Decide(all[0].ID, dlq.Discard, dlqtest.Operator)
	f.Decide(all[1].ID, dlq.Replay, dlqtest.Operator) // by a person
	f.Decide(all[2].ID, dlq.Note, dlqtest.Operator)   // which is no change
	again := *all[3]
	again.DeadAt = again.DeadAt.Add(time.Second) // died again
	if _, err := f.Store.Commit(t.Context(), []dlq.Write{{Collection: contracts.CollectionDeadLetters, ID: again.ID, Op: dlq.OpSet, Fields: again.Fields()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Store.Commit(t.Context(), []dlq.Write{{Collection: contracts.CollectionDeadLetters, ID: all[4].ID, Op: dlq.OpDelete}}); err != nil {
		t.Fatal(err)
	}
	f.Review()
	got := f.Ends(b, dlq.BulkDone)
	want := map[string]int{"total": 6, "delivered": 2, "failed": 0, "skipped": 4, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, dlqtest.Numbers(got)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if f.Item(again.ID).State != contracts.DeadAwaitingReview {
		t.Error("what died again was replayed")
	}
}

func TestBulkKeepsTheOrderOfAnAggregate(t *testing.T) {
	t.Parallel()
	t.Run("one after another", func(t *testing.T) {
		f := setup(t)
		var all []*dlq.Item
		for v := range 12 {
			all = append(all, f.Letter("orgOutbox", "SkillRecognitionGranted", "org-1", int64(v)))
		}
		shuffled := slices.Clone(all)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		f.Bury(shuffled...)
		b := f.Bulk(dlqtest.Granted, 1000)
		f.Review()
		f.Ends(b, dlq.BulkDone)
		var want []string
		for _, i := range all {
			want = append(want, i.ID)
		}
		if diff := cmp.Diff(want, f.Lanes.Sequence()); diff != "" {
			t.Errorf("order of replays (-want +got):\n%s", diff)
		}
	})
	t.Run("behind one that fails", func(t *testing.T) {
		f := setup(t)
		older := f.Die("orgOutbox", "SkillRecognitionGranted", "org-1", 1)
		younger := f.Die("orgOutbox", "SkillRecognitionGranted", "org-1", 2)
		f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
			if i.ID == older.ID {
				return dlqtest.Fails(i), nil
			}
			return dlq.Round{Acked: i.PendingTargets}, nil
		})
		b := f.Bulk(dlqtest.Granted, 1000)
		f.Review()
		got := f.Ends(b, dlq.BulkDone)
		want := map[string]int{"total": 2, "delivered": 0, "failed": 1, "skipped": 1, "replaying": 0, "waiting": 0}
		if diff := cmp.Diff(want, dlqtest.Numbers(got)); diff != "" {
			t.Errorf("numbers (-want +got):\n%s", diff)
		}
		if f.Lanes.Count(younger.ID) != 0 {
			t.Error("the younger one overtook the older")
		}
	})
	t.Run("behind one that is not selected", func(t *testing.T) {
		f := setup(t)
		f.Die("orgOutbox", "SkillRecognitionRevoked", "org-1", 1)
		f.Die("orgOutbox", "SkillRecognitionGranted", "org-1", 2)
		b := f.Bulk(dlqtest.Granted, 1000)
		f.Review()
		if got := f.Ends(b, dlq.BulkDone); got.Skipped != 1 || f.Lanes.Total() != 0 {
			t.Errorf("%v, %d rounds; want it skipped", dlqtest.Numbers(got), f.Lanes.Total())
		}
	})
}

func TestBulksAreListedLatestFirst(t *testing.T) {
	f := setup(t)
	f.Reviewable(1)
	var want []string
	for range 5 {
		want = append([]string{f.Bulk(dlqtest.Granted, 1000).ID}, want...)
	}
	var got []string
	for p := (dlq.Page{Limit: 2}); ; {
		found, err := f.Queue.Bulks(t.Context(), p)
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
