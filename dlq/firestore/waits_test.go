package firestore_test

import (
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// What a replay that somebody asked for waits for is noted, once, and forgotten with the
// request.
func testWaits(t *testing.T, f *fixture) {
	hold := func(i *dlq.Item, w dlq.Waits) {
		t.Helper()
		if err := f.queue.Hold(t.Context(), i, w); err != nil {
			t.Fatal(err)
		}
	}
	waits := func(id string, want dlq.Waits) *dlq.Item {
		t.Helper()
		i := f.item(id)
		if i.Replaying == nil || !i.Replaying.Waits.Equal(want) {
			t.Errorf("got %+v, want that it waits for %+v", i.Replaying, want)
		}
		return i
	}
	i := f.die("schedOutbox", "ScheduleAssigned", "s1", 2)
	funnel := dlq.WaitsForTargets([]string{"NOTIF_ROUTER", "FUNNEL"})
	hold(f.item(i.ID), funnel)
	if got := f.item(i.ID); got.Replaying != nil {
		t.Errorf("got %+v of a dead letter whose replay nobody asked for", got.Replaying)
	}
	f.decide(i.ID, dlq.Replay, operator)
	asked := waits(i.ID, dlq.Waits{})
	hold(asked, funnel)
	noted := waits(i.ID, funnel)
	hold(asked, funnel)
	if got := f.item(i.ID); !got.UpdateTime.Equal(noted.UpdateTime) {
		t.Error("the same was written twice")
	}
	if err := f.queue.Progress(t.Context(), noted, dlq.Round{Acked: []string{"NOTIF_ROUTER"}, Blocked: []string{"FUNNEL"}, Missing: []string{"FUNNEL", "NOTIF_ROUTER"}}); err != nil {
		t.Fatal(err)
	}
	noted = waits(i.ID, dlq.WaitsForTargets([]string{"FUNNEL"}))
	if err := f.queue.Defer(t.Context(), noted, f.now.Add(time.Second), "older"); err != nil {
		t.Fatal(err)
	}
	waits(i.ID, dlq.Waits{Behind: "older"})

	f.decide(i.ID, dlq.Withdraw, operator)
	hold(noted, funnel)
	if got := f.item(i.ID); got.Replaying != nil || got.State != contracts.DeadAwaitingReview {
		t.Errorf("got %+v of one that was withdrawn", got)
	}
	f.decide(i.ID, dlq.Replay, operator)
	hold(noted, funnel)
	waits(i.ID, dlq.Waits{}) // it is another request
}
