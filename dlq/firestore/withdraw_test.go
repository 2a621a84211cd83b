package firestore_test

import (
	"slices"
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Whoever asked for a replay, or allowed it, can take that back while it waits.
func TestReplaysAreWithdrawn(t *testing.T) {
	f := setup(t, newCloud(t))
	wallet, roles := f.die("accOutbox", "WalletDeducted", "a1", 1), f.die("accOutbox", "RoleChanged", "a2", 1)
	f.decide(wallet.ID, dlq.Replay, operator)
	f.decide(wallet.ID, dlq.Withdraw, operator)
	if got := f.item(wallet.ID); got.State != contracts.DeadAwaitingReview || got.Replaying != nil || !got.NextReplayAt.IsZero() {
		t.Errorf("got %+v, want that it waits for a review", got)
	}
	_, err := f.queue.Decide(t.Context(), wallet.ID, dlq.Decide{Action: dlq.Withdraw, Actor: operator, Reason: "because"})
	refused(t, err, dlq.Conflict)

	for _, asked := range []bool{false, true} {
		f.decide(roles.ID, dlq.Authorize, security)
		if asked {
			f.decide(roles.ID, dlq.Replay, guard)
		}
		f.decide(roles.ID, dlq.Withdraw, guard)
		if got := f.item(roles.ID); got.State != contracts.DeadBlocked || got.AuthorizedBy != "" || got.Replaying != nil || !got.NextReplayAt.IsZero() {
			t.Errorf("got %+v, want it blocked", got)
		}
	}
	entry := f.entries(roles.ID)[0]
	if entry.Action != "withdraw" || entry.From != "authorized" || entry.To != "blocked" || entry.Actor != guard.Name {
		t.Errorf("the audit tells %+v", entry)
	}
	f.decide(roles.ID, dlq.Authorize, security)
	f.decide(roles.ID, dlq.Replay, guard)
	f.decide(roles.ID, dlq.Discard, security)
	f.decide(wallet.ID, dlq.Replay, operator)
	f.decide(wallet.ID, dlq.Discard, operator)
	for _, i := range []*dlq.Item{wallet, roles} {
		if got := f.item(i.ID); got.State != contracts.DeadDiscarded || got.Replaying != nil || !got.NextReplayAt.IsZero() {
			t.Errorf("got %+v, want it discarded", got)
		}
	}
}

// What was being delivered when its replay was withdrawn, or when it was
// discarded, is told of as it ended.
func TestEndsThatComeAfterADecisionAreTold(t *testing.T) {
	f := setup(t, newCloud(t))
	for _, action := range []dlq.Action{dlq.Withdraw, dlq.Discard} {
		i := f.die("schedOutbox", "ScheduleAssigned", string(action), 1)
		f.decide(i.ID, dlq.Replay, operator)
		under := f.item(i.ID)
		f.decide(i.ID, action, operator)
		before := f.item(i.ID)
		part := dlq.Result{
			Acked: []string{"FUNNEL"}, Errors: []contracts.AttemptError{{At: f.now, Target: "NOTIF_ROUTER", Code: "Internal", Message: "no"}},
		}
		got, err := f.queue.End(t.Context(), under, part)
		if err != nil {
			t.Fatal(err)
		}
		if got.State != before.State || !slices.Equal(got.PendingTargets, []string{"NOTIF_ROUTER"}) || got.Replays != 1 || !got.NextReplayAt.IsZero() {
			t.Errorf("%s, then a failure: got %+v", action, got)
		}

		i = f.die("schedOutbox", "ScheduleAssigned", "delivered "+string(action), 1)
		replay := f.decide(i.ID, dlq.Replay, operator)
		under = f.item(i.ID)
		f.decide(i.ID, action, operator)
		got, err = f.queue.End(t.Context(), under, f.result(i.ID))
		if err != nil {
			t.Fatal(err)
		}
		if got.State != contracts.DeadReplayed || got.LastReplay.Request != replay.Entry.ID || f.fields(i.RecordPath)["status"] != "delivered" {
			t.Errorf("%s, then delivered: got %+v of %+v", action, got.LastReplay, got)
		}
		if entry := f.entries(i.ID)[0]; entry.Action != "delivered" || !strings.Contains(entry.Reason, "under way when") {
			t.Errorf("the audit tells %+v", entry)
		}
	}
}
