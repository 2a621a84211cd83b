package firestore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

func testPathOfReviewRequired(t *testing.T, f *fixture) {
	i := f.die("accOutbox", "WalletDeducted", "a1", 1)
	heard := f.queue.Hear(dlq.BellReplays)
	d := f.decide(i.ID, dlq.Replay, operator)
	select {
	case <-heard:
	default:
		t.Error("nothing rang")
	}
	now := f.item(i.ID)
	if diff := cmp.Diff(now, d.Item); diff != "" {
		t.Errorf("the decided item (-as it stands +as it was told):\n%s", diff)
	}
	want := *i
	want.Decisions = []dlq.Decision{{ID: d.Entry.ID, Action: dlq.Replay, By: operator.Name, At: f.now, Reason: "because"}}
	if now.Replaying == nil {
		t.Fatalf("got %+v, want it to be replayed", now)
	}
	asked := now.Replaying.At // by the server's clock, when it was judged
	if asked.Before(i.UpdateTime.Truncate(time.Microsecond)) || asked.After(now.UpdateTime) {
		t.Errorf("it was asked for at %v, want between %v and %v", asked, i.UpdateTime, now.UpdateTime)
	}
	want.Replaying = &dlq.Request{ID: d.Entry.ID, By: operator.Name, At: asked, Reason: "because"}
	want.NextReplayAt = f.now // this one's clock is behind
	want.UpdateTime = now.UpdateTime
	if diff := cmp.Diff(&want, now); diff != "" {
		t.Errorf("item after the request (-want +got):\n%s", diff)
	}
	failed := f.end(i.ID, "Internal")
	if diff := cmp.Diff(f.item(i.ID), failed); diff != "" {
		t.Errorf("the ended item (-as it stands +as it was told):\n%s", diff)
	}
	if failed.State != contracts.DeadAwaitingReview || failed.Replaying != nil || failed.Replays != 1 || !failed.NextReplayAt.IsZero() || len(failed.Errors) != 2 {
		t.Errorf("got %+v, want it to wait for a review again", failed)
	}
	if l := failed.LastReplay; l == nil || l.Delivered || l.Request != d.Entry.ID || l.By != operator.Name {
		t.Errorf("last replay %+v, want a failure of the request", l)
	}
	f.decide(i.ID, dlq.Note, operator)
	f.decide(i.ID, dlq.Discard, operator)
	_, err := f.queue.Decide(t.Context(), i.ID, dlq.Decide{Action: dlq.Replay, Actor: operator, Reason: "after all"})
	refused(t, err, dlq.Conflict)
	f.decide(i.ID, dlq.Note, operator)

	type line struct{ Action, Actor, From, To string }
	var got []line
	for _, e := range f.entries(i.ID) {
		got = append(got, line{e.Action, e.Actor, e.From, e.To})
	}
	wantLines := []line{
		{"note", operator.Name, "discarded", "discarded"},
		{"discard", operator.Name, "awaiting_review", "discarded"},
		{"note", operator.Name, "awaiting_review", "awaiting_review"},
		{"failed", "relay", "awaiting_review", "awaiting_review"},
		{"replay", operator.Name, "awaiting_review", "awaiting_review"},
	}
	if diff := cmp.Diff(wantLines, got); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if f.fields(i.RecordPath)["status"] != "dead" {
		t.Error("the record of what was discarded is not dead")
	}
}

func testPathOfSecurityBlock(t *testing.T, f *fixture) {
	one := f.die("accOutbox", "RoleChanged", "a1", 1)
	two := f.die("accOutbox", "PolicyChanged", "a2", 1) // two-person rule
	unrouted := f.letter("accOutbox", "RoleChanged", "a3", 1)
	unrouted.EventType = "RoleRetired"
	unrouted = f.bury(unrouted)
	try := func(i *dlq.Item, a dlq.Action, by dlq.Actor) error {
		_, err := f.queue.Decide(t.Context(), i.ID, dlq.Decide{Action: a, Actor: by, Reason: "because"})
		return err
	}
	for _, step := range []struct {
		name   string
		on     *dlq.Item
		action dlq.Action
		by     dlq.Actor
		want   dlq.RefusalKind // "": it is carried out
	}{
		{"a blocked one is not replayed", one, dlq.Replay, operator, dlq.Conflict},
		{"not by security either", one, dlq.Replay, security, dlq.Conflict},
		{"an operator does not authorize", one, dlq.Authorize, operator, dlq.Forbidden},
		{"an operator does not discard", one, dlq.Discard, operator, dlq.Forbidden},
		{"a viewer notes nothing", one, dlq.Note, viewer, dlq.Forbidden},
		{"an operator notes", one, dlq.Note, operator, ""},
		{"security authorizes", one, dlq.Authorize, security, ""},
		{"once", one, dlq.Authorize, guard, dlq.Conflict},
		{"a viewer does not replay", one, dlq.Replay, viewer, dlq.Forbidden},
		{"the same person replays", one, dlq.Replay, security, ""},
		{"once", one, dlq.Replay, operator, dlq.Conflict},
		{"an operator does not discard while it is replayed", one, dlq.Discard, operator, dlq.Forbidden},
		{"nor withdraw", one, dlq.Withdraw, operator, dlq.Forbidden},
		{"security authorizes the other", two, dlq.Authorize, security, ""},
		{"the same person does not replay", two, dlq.Replay, security, dlq.Forbidden},
		{"nor in other letters", two, dlq.Replay, dlq.Actor{Name: strings.ToUpper(security.Name), Role: dlq.Security}, dlq.Forbidden},
		{"another person replays", two, dlq.Replay, guard, ""},
		{"security authorizes one that the catalog does not route any more", unrouted, dlq.Authorize, security, ""},
		{"it is taken to ask for two persons", unrouted, dlq.Replay, security, dlq.Forbidden},
	} {
		err := try(step.on, step.action, step.by)
		if step.want == "" && err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if step.want != "" {
			if r := refusal(t, err); r.Kind != step.want || r.Detail == "" || r.Hint == "" {
				t.Errorf("%s: got %s (%s; %s), want %s with detail and hint", step.name, r.Kind, r.Detail, r.Hint, step.want)
			}
		}
	}
	if got := f.end(one.ID, "Internal"); got.State != contracts.DeadAuthorized || got.AuthorizedBy != security.Name || !got.NextReplayAt.IsZero() {
		t.Errorf("after a failed replay it is %s, want it authorized still", got.State)
	}
	if got := f.end(two.ID); got.State != contracts.DeadReplayed {
		t.Errorf("got %s, want replayed", got.State)
	}
	_, err := f.queue.Decide(t.Context(), one.ID, dlq.Decide{Action: dlq.Replay, Actor: operator, Reason: "all of them", Bulk: "b1"})
	refused(t, err, dlq.Forbidden)
}

func TestDecideRefuses(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.die("accOutbox", "WalletDeducted", "a1", 1)
	safe := f.die("wsOutbox", "Anything", "w1", 1)
	ok := dlq.Decide{Action: dlq.Replay, Actor: operator, Reason: "because"}
	with := func(change func(*dlq.Decide)) dlq.Decide {
		d := ok
		change(&d)
		return d
	}
	for _, tc := range []struct {
		name   string
		id     string
		decide dlq.Decide
		want   dlq.RefusalKind
	}{
		{"no such item", "nothing", ok, dlq.NotFound},
		{"a path", "a/b/c", ok, dlq.NotFound},
		{"no ID", "", ok, dlq.NotFound},
		{"a reserved ID", "__x__", ok, dlq.NotFound},
		{"no reason", i.ID, with(func(d *dlq.Decide) { d.Reason = " \n " }), dlq.Invalid},
		{"a long reason", i.ID, with(func(d *dlq.Decide) { d.Reason = strings.Repeat("x", 1001) }), dlq.Invalid},
		{"no text", i.ID, with(func(d *dlq.Decide) { d.Reason = "\xff" }), dlq.Invalid},
		{"an action of the service", i.ID, with(func(d *dlq.Decide) { d.Action = dlq.Delivered }), dlq.Invalid},
		{"nobody", i.ID, with(func(d *dlq.Decide) { d.Actor.Name = "" }), dlq.Forbidden},
		{"the service", i.ID, with(func(d *dlq.Decide) { d.Actor = dlq.Service() }), dlq.Forbidden},
		{"a viewer", i.ID, with(func(d *dlq.Decide) { d.Actor = viewer }), dlq.Forbidden},
		{"what was seen is not what is", i.ID, with(func(d *dlq.Decide) { d.Seen = i.UpdateTime.Add(-time.Second) }), dlq.Changed},
		{"an authorization of what needs none", i.ID, with(func(d *dlq.Decide) { d.Action, d.Actor = dlq.Authorize, security }), dlq.Conflict},
		{"a discard of what is replayed by itself", safe.ID, with(func(d *dlq.Decide) { d.Action = dlq.Discard }), dlq.Conflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := f.queue.Decide(t.Context(), tc.id, tc.decide)
			refused(t, err, tc.want)
		})
	}
	if got := f.entries(i.ID); len(got) != 0 {
		t.Errorf("%d audit entries of what was refused", len(got))
	}
	if _, err := f.queue.Decide(t.Context(), i.ID, with(func(d *dlq.Decide) { d.Seen = i.UpdateTime; d.Reason = "  trimmed " })); err != nil {
		t.Errorf("what was seen is what is: %v", err)
	}
	if got := f.item(i.ID).Replaying.Reason; got != "trimmed" {
		t.Errorf("reason %q, want it trimmed", got)
	}
}

func testOrder(t *testing.T, f *fixture) {
	one := f.die("accOutbox", "WalletDeducted", "a1", 1)
	two := f.die("accOutbox", "WalletDeducted", "a1", 2)
	f.die("skillOutbox", "SkillXpAdded", "a1", 1) // another outbox
	f.die("accOutbox", "WalletDeducted", "a2", 1) // another aggregate
	f.die("accOutbox", "WalletDeducted", "a1", 3) // younger
	older, err := f.queue.Older(t.Context(), two)
	if err != nil || len(older) != 1 || older[0].ID != one.ID || older[0].Record != nil {
		t.Errorf("got %v, %v, want version 1 without its record", older, err)
	}
	for v := range int64(4) { // delivered ones: 2 older, 2 younger
		path := dlq.ID("k") + string(rune('0'+v))
		f.commit(dlq.Write{Collection: "accOutbox", ID: path, Op: dlq.OpCreate, Fields: map[string]any{
			"aggregateId": "a1", "aggregateVersion": v, "status": "delivered",
		}})
	}
	replay := dlq.Decide{Action: dlq.Replay, Actor: operator, Reason: "because"}
	_, err = f.queue.Decide(t.Context(), two.ID, replay)
	if r := refusal(t, err); r.Kind != dlq.Conflict || !strings.Contains(r.Detail, one.ID) {
		t.Errorf("got %s (%s), want a conflict that names %s", r.Kind, r.Detail, one.ID)
	}
	if d := f.decide(one.ID, dlq.Replay, operator); d.Order == nil || d.Order.DeliveredSince != 2 || d.Order.AtLeast {
		t.Errorf("order %+v, want 2 delivered since", d.Order)
	}
	f.end(one.ID)
	if d := f.decide(two.ID, dlq.Replay, operator); d.Order.DeliveredSince != 1 {
		t.Errorf("order %+v, want 1 delivered since", d.Order)
	}
}
