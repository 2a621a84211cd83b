package firestore_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
)

// TestLostAnswers: a commit that was applied, though its answer said otherwise,
// is a success, once. Unavailable is what the client sends again by itself.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Unavailable, codes.Internal, codes.DeadlineExceeded, codes.Unknown} {
		t.Run(code.String(), func(t *testing.T) {
			f := setup(t, newCloud(t))
			lose := func() {
				f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Commit", Times: 1, LoseResponse: true, Code: code})
			}
			check := func(on string, entries int) {
				t.Helper()
				if got := len(f.entries(on)); got != entries {
					t.Errorf("%d audit entries of %s, want %d", got, on, entries)
				}
			}
			i := f.die("accOutbox", "RoleChanged", "a1", 1)
			lose()
			d := f.decide(i.ID, dlq.Authorize, security)
			if d.Item.State != contracts.DeadAuthorized || d.Entry.To != string(contracts.DeadAuthorized) || !d.Item.UpdateTime.Equal(f.item(i.ID).UpdateTime) {
				t.Errorf("got %+v, %+v, want it authorized", d.Item, d.Entry)
			}
			check(i.ID, 1)
			lose()
			if d := f.decide(i.ID, dlq.Replay, operator); d.Item.Replaying == nil || d.Order == nil {
				t.Errorf("got %+v, want it to be replayed", d)
			}
			check(i.ID, 2)
			lose()
			if got := f.end(i.ID); got.State != contracts.DeadReplayed || got.Replays != 1 {
				t.Errorf("got %s after %d replays, want replayed after 1", got.State, got.Replays)
			}
			check(i.ID, 3)
			lose()
			if r, err := f.queue.Release(t.Context(), "a1", dlq.Release{Actor: security, Reason: "checked"}); err != nil || r.Freeze.State != dlq.Releasing {
				t.Errorf("got %+v, %v, want it to be released", r, err)
			}
			check("a1", 2)
			lose()
			if _, err := f.queue.SetLane(t.Context(), contracts.CriticalLane, true, operator, "maintenance"); err != nil {
				t.Error(err)
			}
			check(string(contracts.CriticalLane), 1)
			lose()
			if err := f.queue.Record(t.Context(), &dlq.Entry{Action: "refused", Subject: dlq.SubjectAccess, On: "door"}); err != nil {
				t.Error(err)
			}
			check("door", 1)
		})
	}
}

// TestReleaseWhoseFreezeIsGone: the freezer was done before the lost answer of
// the release could be looked for.
func TestReleaseWhoseFreezeIsGone(t *testing.T) {
	f := setup(t, newCloud(t))
	f.die("accOutbox", "RoleChanged", "a1", 1)
	faults := f.cloud.embedded.Faults()
	faults.Add(localfirestore.Fault{Method: "Commit", Times: 1, LoseResponse: true, Code: codes.Internal})
	// The second look at the freeze finds what the freezer left: nothing.
	faults.Add(localfirestore.Fault{Method: "BatchGetDocuments", Collection: contracts.CollectionFrozen, Skip: 1, Times: 1, Match: func(localfirestore.Call) bool {
		snap, err := f.db.Collection(contracts.CollectionFrozen).Where("state", "==", string(dlq.Releasing)).Documents(t.Context()).GetAll()
		if err != nil {
			t.Error(err)
		}
		for _, s := range snap {
			if _, err := s.Ref.Delete(t.Context()); err != nil {
				t.Error(err)
			}
		}
		return true
	}, Code: codes.Unavailable})
	r, err := f.queue.Release(t.Context(), "a1", dlq.Release{Actor: security, Reason: "checked"})
	if err != nil || r.Freeze.ReleasedBy != security.Name {
		t.Errorf("got %+v, %v, want the release to have been done", r, err)
	}
}

// TestCommitThatNeverGoesThrough: an outage is an error, not a refusal.
func TestCommitThatNeverGoesThrough(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.die("accOutbox", "WalletDeducted", "a1", 1)
	f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Commit", Code: codes.Internal})
	_, err := f.queue.Decide(t.Context(), i.ID, dlq.Decide{Action: dlq.Replay, Actor: operator, Reason: "try"})
	if err == nil || contracts.CodeOf(err) != "Internal" {
		t.Errorf("got %v, want Internal", err)
	}
	f.cloud.embedded.Faults().Clear()
	if got := f.item(i.ID); got.Replaying != nil || len(f.entries(i.ID)) != 0 {
		t.Errorf("got %+v, want it as it was", got)
	}
}
