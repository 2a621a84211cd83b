package relay_test

import (
	"context"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

func TestClaimsFailureFreezesWhateverTheTier(t *testing.T) { claimsFailureFreezes(t, newCloud(t)) }

func TestClaimsFailureFreezesWhateverTheTierOnGoogle(t *testing.T) {
	claimsFailureFreezes(t, onGoogle(t))
}

// claimsFailureFreezes has a record of tier SAFE_AUTO fail with the reason of
// the claims' handler: it is blocked, its account frozen, and a replay that
// fails again leaves it so.
func claimsFailureFreezes(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.retries(3, time.Millisecond)
	f.script(func(_ context.Context, target string, r *contracts.Record) error {
		if target == "FUNNEL_CRITICAL" && r.AggregateVersion == 1 {
			return &contracts.Failure{Kind: contracts.Attributable, Code: "UserNotFound", Reason: contracts.ClaimsRefreshFailed}
		}
		return nil
	})
	f.withQueue(nil)
	r := f.run()
	records := f.series("skillOutbox", "SkillXpAdded", account, 1, 3)
	f.append(records, 3)
	f.eventually("the first is dead", func() bool { return f.unmarked(records[:1], contracts.Dead) == 0 })
	f.held(records[1:])

	item := f.item(records[0])
	want := dlq.Place{Tier: contracts.SecurityBlock, State: contracts.DeadBlocked}
	if item.Place() != want || item.Reason != contracts.ClaimsRefreshFailed || item.Attempts != 3 {
		t.Errorf("dead letter at %+v, reason %s, after %d attempts", item.Place(), item.Reason, item.Attempts)
	}
	if got := f.fields(contracts.CollectionFrozen + "/" + dlq.FreezeID(account))["reason"]; got != string(contracts.ClaimsRefreshFailed) {
		t.Errorf("the freeze's reason is %v", got)
	}
	alerts, err := f.db.Collection(contracts.CollectionErrorLog).Documents(f.ctx).GetAll()
	if err != nil || len(alerts) != 1 {
		t.Fatalf("got %d alerts and error %v, want one", len(alerts), err)
	}
	alert := alerts[0].Data()
	if alert["aggregateId"] != account || alert["reason"] != "CLAIMS_REFRESH_FAILED" || alert["lastError"] != "UserNotFound: UserNotFound" {
		t.Errorf("alert %v, want the account, the reason and the last error", alert)
	}

	security := dlq.Actor{Name: "security@example.com", Role: dlq.Security}
	for _, action := range []dlq.Action{dlq.Authorize, dlq.Replay} {
		decided, err := f.queue.Decide(t.Context(), item.ID, dlq.Decide{Action: action, Actor: security, Reason: "checked"})
		if err != nil {
			t.Fatal(err)
		}
		item = decided.Item
	}
	round := r.replay(item)
	if len(round.Failed) != 1 || round.Failed[0].Code != "UserNotFound" {
		t.Fatalf("got round %+v, want a failure", round)
	}
	ended, err := f.queue.End(t.Context(), item, dlq.Result{Errors: round.Failed, Missing: round.Missing})
	if err != nil {
		t.Fatal(err)
	}
	if want := (dlq.Place{Tier: contracts.SecurityBlock, State: contracts.DeadAuthorized}); ended.Place() != want || ended.Reason != contracts.ClaimsRefreshFailed {
		t.Errorf("after a replay in vain it is at %+v, reason %s", ended.Place(), ended.Reason)
	}
}
