package admin_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// asks counts the queue's calls of a name.
func (q *fakeQueue) asks(call string) (n int) {
	for _, c := range q.asked() {
		if c == call {
			n++
		}
	}
	return n
}

func TestSummaryIsSharedByAllWhoAsk(t *testing.T) {
	f := setup(t)
	ask := func(who string) admin.Summary {
		return read[admin.Summary](f.do(who, http.MethodGet, "/dlq/summary", ""), http.StatusOK)
	}
	want := admin.Summary{At: died, Freezes: 2, Tiers: []admin.TierSummary{{
		Tier: contracts.SecurityBlock, Open: 3, Oldest: died, Replaying: 1,
		States: []admin.StateSummary{{State: contracts.DeadBlocked, Open: 2, Oldest: died}, {State: contracts.DeadAuthorized, Open: 1, Oldest: died}},
	}}}
	for _, who := range []string{"dev-viewer", "dev-operator", "dev-security"} {
		if diff := cmp.Diff(want, ask(who)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who, diff)
		}
	}
	if n := f.queue.asks("Count"); n != 1 {
		t.Errorf("it was counted %d times, want once", n)
	}
	f.pass(10 * time.Second)
	f.queue.err = storeError("ResourceExhausted")
	got := ask("dev-viewer")
	if got.Warning != "Firestore answers ResourceExhausted: this is what was counted last" || got.Freezes != 2 || f.queue.asks("Count") != 2 {
		t.Errorf("got %+v after %d counts, want the last ones with a warning", got, f.queue.asks("Count"))
	}
	f.queue.err = nil
	f.pass(5 * time.Second)
	if got := ask("dev-viewer"); got.Warning != "" {
		t.Errorf("it still warns: %s", got.Warning)
	}
}

// TestLaneControlsAreSharedByAllWhoAsk: they are read again after a while, after a
// decision, and when the relay heard otherwise.
func TestLaneControlsAreSharedByAllWhoAsk(t *testing.T) {
	f := setup(t)
	ask := func() { read[admin.LaneList](f.do("dev-viewer", http.MethodGet, "/lanes", ""), http.StatusOK) }
	after := func(what string, want int) {
		t.Helper()
		ask()
		ask()
		if n := f.queue.asks("LaneControls"); n != want {
			t.Errorf("%s: they were read %d times, want %d", what, n, want)
		}
	}
	after("twice", 1)
	f.pass(9 * time.Second)
	after("soon", 1)
	f.pass(time.Second)
	after("later", 2)
	read[admin.LaneControl](f.do("dev-operator", http.MethodPost, "/lanes/BACKGROUND_LANE/pause", ""), http.StatusOK)
	after("after a decision", 3)
}

func TestLaneThatTheRelayHeardOtherwiseOf(t *testing.T) {
	q := embedded(t)
	f := setup(t, over(q, q.catalog))
	lane := func() admin.Lane {
		return read[admin.LaneList](f.do("dev-viewer", http.MethodGet, "/lanes", ""), http.StatusOK).Items[1]
	}
	if got := lane(); got.Paused || !got.PausedHere {
		t.Errorf("got %+v, want it paused here alone", got)
	}
	if _, err := q.SetLane(t.Context(), contracts.BackgroundLane, true, dlq.Actor{Name: "alice", Role: dlq.Operator}, "on another instance"); err != nil {
		t.Fatal(err)
	}
	f.pass(time.Second)
	if got := lane(); !got.Paused || got.PausedBy != "alice" {
		t.Errorf("got %+v, want alice's pause", got)
	}
}

func TestTargetsTellWhoUsesThem(t *testing.T) {
	f := setup(t)
	got := read[admin.TargetList](f.do("dev-viewer", http.MethodGet, "/targets", ""), http.StatusOK)
	want := admin.TargetList{Instance: "relay-1", Items: []admin.Target{
		{
			Target: "CLAIMS_HANDLER", Kind: contracts.KindHandler, State: "closed", Since: died, Outboxes: []string{"accOutbox"},
			Lanes: []contracts.Lane{contracts.CriticalLane}, Waiting: []admin.TargetWaiting{},
		},
		{
			Target: "FUNNEL_CRITICAL", Kind: contracts.KindPubSub, Topic: "ier-funnel-critical", State: "open", Since: died, Reason: "Unavailable", Error: "publish: try later", Failures: 5,
			Outboxes: []string{"accOutbox", "skillOutbox"}, Lanes: []contracts.Lane{contracts.CriticalLane, contracts.StandardLane},
			Waiting: []admin.TargetWaiting{{Outbox: "accOutbox", Records: 3}},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if asked := f.queue.asked(); len(asked) != 0 {
		t.Errorf("the queue was asked %v", asked)
	}
}
