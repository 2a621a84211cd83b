package firestore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// model is what SPEC says about one dead letter, told without the machine.
type model struct {
	Tier      contracts.Tier
	State     contracts.DeadState
	Replaying bool
	Replays   int
	Entries   int // of the audit
	delays    int
	approved  bool // somebody with the security role authorized it
	late      bool // the end of a replay that was begun before it was withdrawn or given up moved it
}

func (m *model) closed() bool { return m.State == "replayed" || m.State == "discarded" }

// decide says how a decision ends: "" when it is carried out.
func (m *model) decide(a dlq.Action, role dlq.Role) dlq.RefusalKind {
	blocking := m.Tier == "SECURITY_BLOCK"
	if role < dlq.Operator || role < dlq.Security && blocking && (a == dlq.Discard || a == dlq.Authorize || a == dlq.Withdraw) {
		return dlq.Forbidden
	}
	switch {
	case a == dlq.Note:
	case m.closed():
		return dlq.Conflict
	case a == dlq.Discard && m.Tier != "SAFE_AUTO":
		m.State, m.Replaying = "discarded", false
	case a == dlq.Withdraw && m.State == "authorized":
		m.State, m.Replaying = "blocked", false
	case a == dlq.Withdraw && m.State == "awaiting_review" && m.Replaying:
		m.Replaying = false
	case m.Replaying:
		return dlq.Conflict
	case a == dlq.Replay && m.State != "blocked":
		m.Replaying = true
	case a == dlq.Authorize && m.State == "blocked":
		m.State, m.approved = "authorized", true
	default:
		return dlq.Conflict
	}
	m.Entries++
	return ""
}

// end says whether the end of a replay is taken.
func (m *model) end(delivered bool) bool {
	if m.closed() || !m.Replaying && m.Tier != "SAFE_AUTO" {
		return false
	}
	m.Replaying = false
	m.Replays++
	m.Entries++
	switch {
	case delivered:
		m.State = "replayed"
	case m.Tier == "SAFE_AUTO" && m.Replays >= m.delays:
		m.Tier, m.State = "REVIEW_REQUIRED", "awaiting_review"
	}
	return true
}

// begun reports whether a replay may begin.
func (m *model) begun() bool { return m.Replaying || m.Tier == "SAFE_AUTO" && !m.closed() }

// endLate says whether the end of a replay is taken that began when as many had
// ended, whatever was decided since.
func (m *model) endLate(replays int, delivered bool) bool {
	if m.begun() || m.Replays != replays {
		return m.Replays == replays && m.end(delivered)
	}
	m.late = true
	m.Replays++
	m.Entries++
	if delivered {
		m.State = "replayed"
	}
	return true
}

// TestModel walks at random and compares each step with the model.
func TestModel(t *testing.T) {
	t.Parallel()
	f := setup(t, newCloud(t))
	events := map[contracts.Tier][2]string{
		contracts.SafeAuto: {"wsOutbox", "Anything"}, contracts.ReviewRequired: {"accOutbox", "WalletDeducted"}, contracts.SecurityBlock: {"accOutbox", "RoleChanged"},
	}
	people := []dlq.Actor{viewer, operator, security, {Name: "relay"}}
	walks := 0
	rapid.Check(t, func(t *rapid.T) {
		walks++
		tier := rapid.SampledFrom(contracts.Tiers()).Draw(t, "tier")
		i := f.die(events[tier][0], events[tier][1], fmt.Sprint("agg", walks), 1)
		m := &model{Tier: tier, State: tier.FirstState(), delays: len(f.catalog.Replay.Delays)}
		var under *dlq.Item // as a replay that is under way has read it
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			before := *m
			m.late = false
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				if item := f.item(i.ID); m.begun() {
					under = item
				}
			case 1:
				delivered := rapid.IntRange(0, 3).Draw(t, "outcome") == 0
				item := f.item(i.ID)
				if under != nil && rapid.Bool().Draw(t, "late") {
					item = under
				}
				r := f.result(i.ID)
				if !delivered {
					r = dlq.Result{At: f.now, Errors: []contracts.AttemptError{{At: f.now, Target: "FUNNEL", Code: "Internal", Message: "no"}}}
				}
				_, err := f.queue.End(f.t.Context(), item, r)
				refusal := dlq.Conflict
				if item.Replays != m.Replays {
					refusal = dlq.Changed
				}
				var taken bool
				if item == under {
					taken = m.endLate(item.Replays, delivered)
				} else {
					taken = m.end(delivered)
				}
				judge(t, err, taken, refusal)
			default:
				a := rapid.SampledFrom([]dlq.Action{dlq.Replay, dlq.Discard, dlq.Authorize, dlq.Withdraw, dlq.Note}).Draw(t, "action")
				by := rapid.SampledFrom(people).Draw(t, "actor")
				want := m.decide(a, by.Role)
				_, err := f.queue.Decide(f.t.Context(), i.ID, dlq.Decide{Action: a, Actor: by, Reason: "because"})
				judge(t, err, want == "", want)
			}
			f.compare(t, i.ID, before, *m)
		}
	})
	t.Logf("%d walks", walks)
}

func judge(t *rapid.T, err error, taken bool, want dlq.RefusalKind) {
	t.Helper()
	r, refused := errors.AsType[*dlq.Refusal](err)
	switch {
	case taken && err != nil:
		t.Fatalf("got %v, want it carried out", err)
	case !taken && (!refused || r.Kind != want):
		t.Fatalf("got %v, want it refused as %s", err, want)
	}
}

// compare looks at what stands there after a step.
func (f *fixture) compare(t *rapid.T, id string, before, m model) {
	t.Helper()
	i := f.item(id)
	got := m
	got.Tier, got.State, got.Replaying, got.Replays, got.Entries = i.Tier, i.State, i.Replaying != nil, i.Replays, len(f.entries(id))
	if diff := cmp.Diff(m, got, cmp.AllowUnexported(model{})); diff != "" {
		t.Fatalf("dead letter (-want +got):\n%s", diff)
	}
	if before.closed() && i.State != before.State && (!m.late || before.State != contracts.DeadDiscarded) {
		t.Fatalf("it was %s and is %s", before.State, i.State)
	}
	if i.OriginalTier == contracts.SecurityBlock && (m.Replaying || m.State == contracts.DeadReplayed) && !m.approved {
		t.Fatal("it was replayed without an authorization")
	}
	letter := f.fields(contracts.CollectionDeadLetters + "/" + id)
	if open := letter["open"]; open != !m.closed() {
		t.Fatalf("open is %v in state %s", open, m.State)
	}
	status, want := f.fields(i.RecordPath)["status"], "dead"
	if m.State == contracts.DeadReplayed {
		want = "delivered"
	}
	if status != want {
		t.Fatalf("the record is %v, want %s", status, want)
	}
}
