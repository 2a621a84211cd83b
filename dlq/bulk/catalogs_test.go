package bulk_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/bulk"
	"outboxrelay/dlq/dlqtest"
)

// without is a queue of an instance whose catalog does not have the outbox.
func (f *fixture) without(outbox string) *dlq.Queue {
	f.T.Helper()
	c := *f.Catalog
	c.Outboxes = slices.DeleteFunc(slices.Clone(c.Outboxes), func(o *contracts.Outbox) bool { return o.Name == outbox })
	q, err := dlq.New(dlq.Config{Store: f.Store, Catalog: &c})
	if err != nil {
		f.T.Fatal(err)
	}
	return q
}

// lead runs the bulk replays on an instance that has that queue.
func (f *fixture) lead(q *dlq.Queue) {
	f.T.Helper()
	c := f.Config
	r, err := bulk.New(q, bulk.Config{Config: c.Config, RampStep: c.RampStep, Ask: c.Ask, Follow: c.Follow, FollowMax: c.FollowMax, Save: c.Save})
	f.Start(r, err)
}

// TestBulkOfAnOutboxThatAnotherInstanceRelays: who leads need not have it.
func TestBulkOfAnOutboxThatAnotherInstanceRelays(t *testing.T) {
	f := setup(t)
	f.Reviewable(8)
	other, err := dlqtest.Replays(f.Queue, f.Lanes, f.Config)
	f.Start(other, err)
	registered := dlq.Write{Collection: contracts.CollectionLeases, ID: contracts.InstancePrefix + "c", Op: dlq.OpSet, Fields: map[string]any{
		contracts.LeaseFieldShares: []any{"orgOutbox"}, contracts.LeaseFieldTerm: int64(60_000),
	}}
	if _, err := f.Store.Commit(t.Context(), []dlq.Write{registered}); err != nil {
		t.Fatal(err)
	}
	b := f.Bulk(dlqtest.Granted, 1000)
	f.lead(f.without("orgOutbox"))
	if got := f.Ends(b, dlq.BulkDone); got.Delivered != 8 {
		t.Errorf("%v, skipped for %v, want all delivered", dlqtest.Numbers(got), got.SkippedFor)
	}
}

// TestBulkOfAnOutboxThatNobodyRelaysIsNoSuccess: it says so instead.
func TestBulkOfAnOutboxThatNobodyRelaysIsNoSuccess(t *testing.T) {
	f := setup(t)
	f.Reviewable(8)
	b := f.Bulk(dlqtest.Granted, 1000)
	f.lead(f.without("orgOutbox"))
	got := f.Ends(b, dlq.BulkStopped)
	if diff := cmp.Diff(map[string]int{"no instance has their outbox orgOutbox in its catalog": 8}, got.SkippedFor); diff != "" {
		t.Errorf("skipped for (-want +got):\n%s", diff)
	}
	if !strings.Contains(got.EndReason, "nothing of it could be replayed: 8: no instance has their outbox orgOutbox") {
		t.Errorf("ended as %q", got.EndReason)
	}
}

// TestSkippedAreCountedByTheReason: each differs, and the end tells them.
func TestSkippedAreCountedByTheReason(t *testing.T) {
	f := setup(t)
	all := f.Reviewable(4)
	younger := f.Die("orgOutbox", "SkillRecognitionGranted", "twice", 2)
	ids := []string{younger.ID}
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	f.Die("orgOutbox", "SkillRecognitionRevoked", "twice", 1)
	b, err := f.Queue.StartBulk(t.Context(), dlq.BulkRequest{IDs: ids, Actor: dlqtest.Operator})
	if err != nil {
		t.Fatal(err)
	}
	f.Decide(all[0].ID, dlq.Discard, dlqtest.Operator)
	f.Decide(all[1].ID, dlq.Replay, dlqtest.Operator)
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if i.ID == all[1].ID {
			return dlq.Round{Blocked: i.PendingTargets, Missing: i.PendingTargets}, nil
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	gone := dlq.Write{Collection: contracts.CollectionDeadLetters, ID: all[2].ID, Op: dlq.OpDelete}
	if _, err := f.Store.Commit(t.Context(), []dlq.Write{gone}); err != nil {
		t.Fatal(err)
	}
	f.Review()
	got := f.Ends(b, dlq.BulkDone)
	want := map[string]int{
		"they are gone": 1, "they were closed meanwhile": 1, "another replay of them was asked for or ended meanwhile": 1,
		"an older dead letter of their aggregate comes first, which may be outside of the selection": 1,
	}
	if diff := cmp.Diff(want, got.SkippedFor); diff != "" || got.Delivered != 1 {
		t.Errorf("%d delivered, skipped for (-want +got):\n%s", got.Delivered, diff)
	}
	for why := range maps.Keys(want) {
		if !strings.Contains(got.EndReason, why) {
			t.Errorf("ended as %q, want it to tell %q", got.EndReason, why)
		}
	}
}
