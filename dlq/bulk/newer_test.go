package bulk_test

import (
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// becomes has another version of the service give a bulk replay a state.
func (f *fixture) becomes(b *dlq.Bulk, s dlq.BulkState) {
	f.T.Helper()
	if _, err := f.Store.Commit(f.T.Context(), []dlq.Write{{
		Collection: contracts.CollectionReplays, ID: b.ID, Op: dlq.OpUpdate, Fields: map[string]any{"state": string(s), "pausedUntil": "tomorrow"},
	}}); err != nil {
		f.T.Fatal(err)
	}
}

// A newer version gave a bulk replay a state, and was rolled back. What that state means is
// not known here: it is left as it is, and the newer version goes on with it.
func TestABulkInAStateOfANewerVersionIsLeft(t *testing.T) {
	f := setup(t)
	f.Reviewable(3)
	b := f.Bulk(dlqtest.Granted, 1000)
	f.becomes(b, "paused")
	f.Review()
	f.Reviewable(3)
	later := f.Bulk(dlqtest.Granted, 1000) // a runner begins the oldest first
	f.Ends(later, dlq.BulkDone)
	if got := f.Now(b); got.State != "paused" || got.Waiting != 3 || got.Delivered != 0 {
		t.Errorf("got %+v, want it paused, with three that wait", got)
	}
	left, err := f.Queue.Unsettled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0].ID != b.ID {
		t.Errorf("%d bulk replays are not through, want the paused one: no version would find it again", len(left))
	}
	f.becomes(b, dlq.BulkRunning)
	f.Ends(b, dlq.BulkDone)
}

// A state that comes while it runs ends nothing either.
func TestABulkThatANewerVersionStopsOnItsWayIsLeft(t *testing.T) {
	f := setup(t)
	f.Reviewable(3)
	b := f.Bulk(dlqtest.Granted, 1000)
	f.becomes(b, "paused")
	if _, settled, err := f.Queue.SaveBulk(t.Context(), b, nil); settled || err != nil {
		t.Errorf("settled %v, %v, want it not through", settled, err)
	}
	if got, err := f.Queue.CancelBulk(t.Context(), b.ID, dlqtest.Operator, "wrong filter"); err != nil || got.State != dlq.BulkCancelled {
		t.Errorf("cancel: %+v, %v, want it cancelled: people may end what no version goes on with", got, err)
	}
}
