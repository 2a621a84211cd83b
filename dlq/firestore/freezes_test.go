package firestore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

func testRelease(t *testing.T, f *fixture) {
	for _, a := range []string{"a1", "a/2", "a3"} {
		f.die("accOutbox", "RoleChanged", a, 1)
	}
	replayed := f.die("accOutbox", "RoleChanged", "a1", 2)
	first, err := f.queue.Freezes(t.Context(), dlq.Page{Limit: 2})
	if err != nil || len(first.Items) != 2 || first.Next == "" {
		t.Fatalf("got %+v, %v, want 2 freezes and more", first, err)
	}
	rest, err := f.queue.Freezes(t.Context(), dlq.Page{Limit: 2, Token: first.Next})
	if err != nil || len(rest.Items) != 1 || rest.Next != "" {
		t.Fatalf("got %+v, %v, want the last freeze", rest, err)
	}

	for _, tc := range []struct {
		name, aggregate, reason string
		by                      dlq.Actor
		want                    dlq.RefusalKind
	}{
		{"not by an operator", "a1", "checked", operator, dlq.Forbidden},
		{"not without a reason", "a1", "", security, dlq.Invalid},
		{"not what is not frozen", "b", "checked", security, dlq.NotFound},
	} {
		_, err := f.queue.Release(t.Context(), tc.aggregate, dlq.Release{Actor: tc.by, Reason: tc.reason})
		if r := refusal(t, err); r.Kind != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, r.Kind, tc.want)
		}
	}

	heard := f.queue.Hear(dlq.BellFreezes)
	r, err := f.queue.Release(t.Context(), "a1", dlq.Release{Actor: security, Reason: "checked"})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-heard:
	default:
		t.Error("nothing rang")
	}
	if len(r.Open) != 2 || r.Open[0].Record != nil {
		t.Errorf("%d open dead letters, want 2 without records", len(r.Open))
	}
	if len(r.Freeze.DeadLetters) != 2 || r.Freeze.State != dlq.Releasing || r.Freeze.ReleasedBy != security.Name {
		t.Errorf("got %+v, want it releasing", r.Freeze)
	}
	now, err := f.queue.FreezesOf(t.Context(), "a1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(now, []*dlq.Freeze{r.Freeze}); diff != "" {
		t.Errorf("the freeze (-as it stands +as it was told):\n%s", diff)
	}
	_, err = f.queue.Release(t.Context(), "a1", dlq.Release{Actor: guard, Reason: "checked"})
	refused(t, err, dlq.Conflict)

	again := f.die("accOutbox", "RoleChanged", "a1", 3) // dies during the release
	if now, _ = f.queue.FreezesOf(t.Context(), "a1"); now[0].State != dlq.Frozen || now[0].ReleasedBy != "" || now[0].EventID != again.EventID {
		t.Errorf("got %+v, want it frozen anew", now[0])
	}
	if _, err := f.queue.Release(t.Context(), "a1", dlq.Release{Actor: guard, Reason: "checked again"}); err != nil {
		t.Error(err)
	}
	if _, err := f.queue.Release(t.Context(), "a/2", dlq.Release{Actor: security, Reason: "checked"}); err != nil {
		t.Errorf("an aggregate with a slash: %v", err)
	}
	_ = replayed
}

func testLanes(t *testing.T, f *fixture) {
	heard := f.queue.Hear(dlq.BellLanes)
	for _, step := range []struct {
		name   string
		lane   contracts.Lane
		paused bool
		by     dlq.Actor
		want   dlq.RefusalKind
	}{
		{"a lane that runs is not resumed", contracts.StandardLane, false, operator, dlq.Conflict},
		{"a viewer pauses nothing", contracts.StandardLane, true, viewer, dlq.Forbidden},
		{"no such lane", "FAST_LANE", true, operator, dlq.NotFound},
		{"an operator pauses", contracts.StandardLane, true, operator, ""},
		{"once", contracts.StandardLane, true, security, dlq.Conflict},
		{"and resumes", contracts.StandardLane, false, security, ""},
		{"and pauses again", contracts.StandardLane, true, security, ""},
	} {
		got, err := f.queue.SetLane(t.Context(), step.lane, step.paused, step.by, "maintenance")
		if step.want != "" {
			if r := refusal(t, err); r.Kind != step.want {
				t.Errorf("%s: got %s, want %s", step.name, r.Kind, step.want)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		want := dlq.LaneControl{Lane: step.lane, Paused: step.paused, By: step.by.Name, At: f.now, Reason: "maintenance"}
		controls, err := f.queue.LaneControls(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := map[contracts.Lane]dlq.LaneControl{
			contracts.CriticalLane: {Lane: contracts.CriticalLane}, contracts.StandardLane: want, contracts.BackgroundLane: {Lane: contracts.BackgroundLane},
		}
		if diff := cmp.Diff(all, controls); diff != "" || !cmp.Equal(want, *got) {
			t.Errorf("%s: got %+v, lanes (-want +got):\n%s", step.name, got, diff)
		}
		select {
		case <-heard:
		default:
			t.Errorf("%s: nothing rang", step.name)
		}
	}
	var got []string
	for _, e := range f.entries(string(contracts.StandardLane)) {
		got = append(got, e.Action+" "+e.From+" "+e.To)
	}
	if diff := cmp.Diff([]string{"pause running paused", "resume paused running", "pause running paused"}, got); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}
