package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

// planCatalog is the default catalog without handlers.
func planCatalog(t *testing.T) *contracts.Catalog {
	t.Helper()
	c, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.WithTopics(map[string]string{"CLAIMS_HANDLER": "ier-claims-handler"}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPlanMakesATroubleOfEachTier(t *testing.T) {
	type plan struct {
		Tier  contracts.Tier
		Event string
		Topic string
		Later []string
	}
	c := planCatalog(t)
	var got []plan
	for _, trouble := range Plan(c, 7, "FUNNEL") {
		p := plan{Tier: trouble.Tier, Event: trouble.Record.Outbox + "/" + trouble.Record.EventType, Topic: trouble.topic}
		for _, later := range trouble.later {
			if later.record.AggregateID != trouble.Record.AggregateID {
				t.Errorf("%s follows %s, of another aggregate", later.record.AggregateID, trouble.Record.AggregateID)
			}
			p.Later = append(p.Later, later.record.Outbox+"/"+later.record.EventType)
		}
		got = append(got, p)
		if verdict := c.Check(trouble.Record, nil); len(verdict.Faults) > 0 {
			t.Errorf("%s breaks its contract: %v", p.Event, verdict.Faults)
		}
	}
	want := []plan{
		{contracts.SafeAuto, "skillOutbox/SkillXpAdded", "ier-funnel-critical", []string{"skillOutbox/SkillXpAdded", "skillOutbox/SkillXpAdded"}},
		{contracts.ReviewRequired, "accOutbox/WalletDeducted", "ier-funnel-critical", []string{"accOutbox/WalletDeducted", "accOutbox/WalletDeducted"}},
		{contracts.SecurityBlock, "accOutbox/RoleChanged", "ier-claims-handler", []string{"accOutbox/RoleChanged", "accOutbox/RoleChanged", "skillOutbox/SkillXpAdded"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// Where the handler sets claims, an account without a user takes the place of a
// topic that refuses.
func TestPlanTroublesTheHandlerOfClaims(t *testing.T) {
	c, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	got := map[contracts.Tier]bool{}
	for _, trouble := range Plan(c, 7, "FUNNEL") {
		got[trouble.Tier] = trouble.Account() == trouble.Record.AggregateID
	}
	want := map[contracts.Tier]bool{contracts.SafeAuto: false, contracts.ReviewRequired: false, contracts.SecurityBlock: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("troubles for want of a user (-want +got):\n%s", diff)
	}
}

// What another catalog has not got is not planned, nor what the outage is about.
func TestPlanLeavesOutWhatItCannotShow(t *testing.T) {
	c := planCatalog(t)
	for _, trouble := range Plan(c, 7, "FUNNEL_CRITICAL") {
		for _, target := range trouble.reach {
			if target == "FUNNEL_CRITICAL" {
				t.Errorf("%s goes to the target that is spared", trouble.Record.EventType)
			}
		}
	}
	none := &contracts.Catalog{Lanes: c.Lanes, Targets: c.Targets}
	if got := Plan(none, 7, "FUNNEL"); len(got) != 0 {
		t.Errorf("%d troubles for a catalog without outboxes", len(got))
	}
}

// That nothing is left is told where something was, not from the start.
func TestNoteTellsThatNoneIsLeft(t *testing.T) {
	var watch QueueWatch
	if got := watch.Note(); got != "" {
		t.Errorf("at the start the note is %q", got)
	}
	for _, seen := range []struct {
		q    Queue
		want string
	}{
		{Queue{}, ""},
		{Queue{Frozen: 1}, "dead letters: none; frozen aggregates: 1, records held: 0"},
		{Queue{}, "dead letters: none any more"},
	} {
		watch.note(seen.q)
		if got := watch.Note(); got != seen.want {
			t.Errorf("after %+v the note is %q, want %q", seen.q, got, seen.want)
		}
	}
}

func TestQueueNote(t *testing.T) {
	for _, tc := range []struct {
		name string
		q    Queue
		want string
	}{
		{"nothing", Queue{}, ""},
		{"dead letters", Queue{Open: map[contracts.Tier]int64{contracts.SafeAuto: 2, contracts.SecurityBlock: 1}}, "dead letters: 2 SAFE_AUTO, 1 SECURITY_BLOCK"},
		{"a freeze that is left", Queue{Frozen: 1, Held: 4}, "dead letters: none; frozen aggregates: 1, records held: 4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.q.Note(); got != tc.want {
				t.Errorf("note is %q, want %q", got, tc.want)
			}
		})
	}
}
