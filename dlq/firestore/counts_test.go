package firestore_test

import (
	"context"
	"path"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
)

func testCounts(t *testing.T, f *fixture) {
	count := func() *dlq.Counts {
		t.Helper()
		c, err := f.queue.Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	none := &dlq.Counts{At: f.now, Tiers: []dlq.TierCount{
		{Tier: contracts.SafeAuto, States: []dlq.StateCount{{State: contracts.DeadScheduled}}},
		{Tier: contracts.ReviewRequired, States: []dlq.StateCount{{State: contracts.DeadAwaitingReview}}},
		{Tier: contracts.SecurityBlock, States: []dlq.StateCount{{State: contracts.DeadBlocked}, {State: contracts.DeadAuthorized}}},
	}}
	if diff := cmp.Diff(none, count()); diff != "" {
		t.Errorf("an empty queue (-want +got):\n%s", diff)
	}
	first := f.now
	review := f.die("accOutbox", "WalletDeducted", "a1", 1)
	authorized := f.die("accOutbox", "RoleChanged", "a2", 1)
	f.now = f.now.Add(time.Hour)
	f.die("accOutbox", "WalletDeducted", "a3", 1)
	f.die("accOutbox", "RoleChanged", "a4", 1)
	closed := f.die("accOutbox", "WalletDeducted", "a5", 1)
	f.decide(closed.ID, dlq.Discard, operator)
	f.decide(authorized.ID, dlq.Authorize, security)
	f.decide(review.ID, dlq.Replay, operator)
	want := &dlq.Counts{At: f.now, Freezes: 2, Tiers: []dlq.TierCount{
		none.Tiers[0],
		{Tier: contracts.ReviewRequired, Open: 2, Oldest: first, Replaying: 1, States: []dlq.StateCount{{State: contracts.DeadAwaitingReview, Open: 2, Oldest: first}}},
		{Tier: contracts.SecurityBlock, Open: 2, Oldest: first, States: []dlq.StateCount{
			{State: contracts.DeadBlocked, Open: 1, Oldest: f.now}, {State: contracts.DeadAuthorized, Open: 1, Oldest: first},
		}},
	}}
	if diff := cmp.Diff(want, count()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := want.Open(); got != 4 {
		t.Errorf("%d are open, want 4", got)
	}
	f.end(review.ID, "Internal")
	if got := count().Tiers[1].Replaying; got != 0 {
		t.Errorf("%d are being replayed after the end, want none", got)
	}
}

// TestCountsCost: what the overview asks for may not grow with the queue but by a
// read for each thousand.
func TestCountsCost(t *testing.T) {
	f := setup(t, newCloud(t))
	for range 30 {
		f.die("accOutbox", "WalletDeducted", "a", 1)
	}
	f.die("accOutbox", "RoleChanged", "b", 1)
	f.cloud.embedded.ResetBilling()
	if _, err := f.queue.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.cloud.embedded.Billing().Reads; got > 10 {
		t.Errorf("it costs %d reads, want 10 at most", got)
	}
}

// What is written between two counts is in neither or in both: the difference of counts of two
// moments would hide a dead letter of the relay's own from a replay that must wait for it.
func testCountsOfOneMoment(t *testing.T, f *fixture) {
	var store *dlqfirestore.Store
	write := func(id string) {
		t.Helper()
		if _, err := store.Commit(t.Context(), []dlq.Write{{Collection: "c", ID: id, Op: dlq.OpCreate, Fields: map[string]any{"n": 1}}}); err != nil {
			t.Error(err)
		}
	}
	asked := 0
	store = dlqfirestore.New(firestoretest.Client(t, f.cloud.address, option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if path.Base(method) == "RunAggregationQuery" {
				if asked++; asked == 2 {
					write("between")
				}
			}
			return open(ctx, desc, cc, method, opts...)
		},
	))))
	write("before")
	q := dlq.Query{Collection: "c", Where: []dlq.Where{{Field: "n", Op: "==", Value: 1}}}
	counts, err := store.Counts(t.Context(), q, q)
	if diff := cmp.Diff([]int64{1, 1}, counts); diff != "" || err != nil || asked != 2 {
		t.Errorf("%v after %d queries, counts (-want +got):\n%s", err, asked, diff)
	}
	if n, err := store.Count(t.Context(), q); n != 2 || err != nil {
		t.Errorf("then there are %d, %v, want 2", n, err)
	}
}
