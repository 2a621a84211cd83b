package firestore_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
)

func testPathOfSafeAuto(t *testing.T, f *fixture) {
	i := f.die("tagOutbox", "TagLifecycleEvent", "t1", 1)
	delays := f.catalog.Replay.Delays
	for n := 1; n < len(delays); n++ {
		i = f.end(i.ID, "Internal")
		wait := i.NextReplayAt.Sub(f.now)
		if low, high := delays[n]*8/10, delays[n]*12/10; wait < low || wait > high {
			t.Errorf("replay %d comes after %s, want %s to %s", n+1, wait, low, high)
		}
		if i.State != contracts.DeadScheduled || i.Tier != contracts.SafeAuto || i.Replays != n {
			t.Errorf("after replay %d: %s, %s, %d replays", n, i.Tier, i.State, i.Replays)
		}
	}
	i = f.end(i.ID, "Internal")
	if i.Tier != contracts.ReviewRequired || i.OriginalTier != contracts.SafeAuto || i.State != contracts.DeadAwaitingReview || !i.NextReplayAt.IsZero() {
		t.Errorf("after the last replay: %s, %s, next %s", i.Tier, i.State, i.NextReplayAt)
	}
	if d := i.Decisions; len(d) != 1 || d[0].Action != dlq.Exhausted || d[0].By != "relay" || d[0].ID != i.LastReplay.ID {
		t.Errorf("decisions %+v, want the service's one", d)
	}
	var actions []string
	for _, e := range f.entries(i.ID) {
		actions = append(actions, e.Action)
	}
	if diff := cmp.Diff([]string{"exhausted", "failed", "failed", "failed", "failed"}, actions); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if len(i.Errors) != 1+2*len(delays) { // two targets
		t.Errorf("%d errors, want %d", len(i.Errors), 1+2*len(delays))
	}
	f.decide(i.ID, dlq.Discard, operator)
}

// TestPartOfTheTargets: what acknowledged is not delivered to again.
func TestPartOfTheTargets(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.die("schedOutbox", "ScheduleAssigned", "s1", 1)
	f.decide(i.ID, dlq.Replay, operator)
	i, err := f.queue.End(t.Context(), f.item(i.ID), dlq.Result{
		Acked: []string{"FUNNEL"}, Errors: []contracts.AttemptError{{At: f.now, Target: "NOTIF_ROUTER", Code: "Internal", Message: "no"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"NOTIF_ROUTER"}, i.PendingTargets); diff != "" {
		t.Errorf("pending targets (-want +got):\n%s", diff)
	}
	record := f.fields(i.RecordPath)
	if diff := cmp.Diff([]any{"FUNNEL"}, record["deliveredTargets"]); diff != "" || record["status"] != "dead" {
		t.Errorf("record is %v, delivered targets (-want +got):\n%s", record["status"], diff)
	}
	f.decide(i.ID, dlq.Replay, operator)
	i = f.end(i.ID)
	if i.State != contracts.DeadReplayed || len(i.PendingTargets) != 0 || i.Replays != 2 {
		t.Errorf("got %+v, want it replayed", i)
	}
	record = f.fields(i.RecordPath)
	want := map[string]any{
		"status": "delivered", "deliveredTargets": []any{"FUNNEL", "NOTIF_ROUTER"}, "deliveredAt": f.now,
		"expireAt": f.now.Add(f.catalog.Outbox("schedOutbox").Retention),
	}
	for name, v := range want {
		if diff := cmp.Diff(v, record[name]); diff != "" {
			t.Errorf("record's %s (-want +got):\n%s", name, diff)
		}
	}
	letter := f.fields(contracts.CollectionDeadLetters + "/" + i.ID)
	if letter["open"] != false || letter["nextReplayAt"] != nil || letter["replaying"] != nil {
		t.Errorf("dead letter is open %v, next %v, replaying %v", letter["open"], letter["nextReplayAt"], letter["replaying"])
	}
}

func testEndWithoutRecord(t *testing.T, f *fixture) {
	gone := f.die("wsOutbox", "Anything", "w1", 1)
	if _, err := f.db.Doc(gone.RecordPath).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.end(gone.ID); got.State != contracts.DeadReplayed {
		t.Errorf("got %s, want replayed", got.State)
	}
	if got := f.fields(gone.RecordPath); got != nil {
		t.Errorf("the record is there again: %v", got)
	}

	taken := f.die("wsOutbox", "Anything", "w2", 1)
	other := map[string]any{"idempotencyKey": "another", "status": "pending"}
	if _, err := f.db.Doc(taken.RecordPath).Set(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	f.end(taken.ID)
	if diff := cmp.Diff(other, f.fields(taken.RecordPath)); diff != "" {
		t.Errorf("another record in its place (-want +got):\n%s", diff)
	}
}

func testEndDeletes(t *testing.T, f *fixture) {
	i := f.die("tagOutbox", "TagLifecycleEvent", "t1", 1)
	f.end(i.ID, "Internal")
	if f.fields(i.RecordPath) == nil {
		t.Error("a replay that failed deleted the record")
	}
	f.end(i.ID)
	if got := f.fields(i.RecordPath); got != nil {
		t.Errorf("got %v, want the record deleted", got)
	}
}

// TestEndBesideAnotherRecord: a record that takes the place of the replayed one
// at the last moment is not marked delivered.
func TestEndBesideAnotherRecord(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.die("wsOutbox", "Anything", "w1", 1)
	other := map[string]any{"idempotencyKey": "another", "status": "pending"}
	var begun atomic.Bool
	f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Commit", Collection: "wsOutbox", Match: func(localfirestore.Call) bool {
		if begun.CompareAndSwap(false, true) {
			if _, err := f.db.Doc(i.RecordPath).Set(t.Context(), other); err != nil {
				t.Error(err)
			}
		}
		return false
	}})
	if got := f.end(i.ID); got.State != contracts.DeadReplayed {
		t.Errorf("got %s, want replayed", got.State)
	}
	if diff := cmp.Diff(other, f.fields(i.RecordPath)); diff != "" || !begun.Load() {
		t.Errorf("another record in its place (-want +got):\n%s", diff)
	}
}

func TestEndRefuses(t *testing.T) {
	f := setup(t, newCloud(t))
	failed := func(i *dlq.Item) error {
		_, err := f.queue.End(t.Context(), i, f.result(i.ID, "Internal"))
		return err
	}
	i := f.die("wsOutbox", "Anything", "w1", 1)
	f.end(i.ID, "Internal")
	refused(t, failed(i), dlq.Changed)
	again := f.letter("wsOutbox", "Anything", "w1", 1)
	again.ID, again.IdempotencyKey, again.RecordPath = i.ID, i.IdempotencyKey, i.RecordPath
	before := f.item(i.ID)
	again.DeadAt = f.now.Add(time.Hour)
	again.Replays = before.Replays
	f.commit(dlq.Write{Collection: contracts.CollectionDeadLetters, ID: i.ID, Op: dlq.OpSet, Fields: again.Fields()})
	refused(t, failed(before), dlq.Changed)
	review := f.die("accOutbox", "WalletDeducted", "a1", 1)
	refused(t, failed(review), dlq.Conflict) // nobody asked
}

// TestRequestDuringReplay: who asks while a replay runs gets its end.
func TestRequestDuringReplay(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.die("wsOutbox", "Anything", "w1", 1)
	d := f.decide(i.ID, dlq.Replay, operator)
	got, err := f.queue.End(t.Context(), i, f.result(i.ID))
	if err != nil || got.LastReplay.Request != d.Entry.ID || got.State != contracts.DeadReplayed {
		t.Errorf("got %+v, %v, want the request answered", got, err)
	}
}

// TestListsOfAnItemAreBounded: neither errors nor decisions grow for ever, and
// the first of each stay.
func TestListsOfAnItemAreBounded(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.letter("wsOutbox", "Anything", "w1", 1)
	for n := range 60 {
		i.Decisions = append(i.Decisions, dlq.Decision{ID: string(rune('A' + n)), Action: dlq.Note, By: "x", At: f.now, Reason: "y"})
		i.Errors = append(i.Errors, contracts.AttemptError{At: f.now, Attempt: n, Target: "FUNNEL"})
	}
	first := i.Errors[0]
	f.bury(i)
	f.decide(i.ID, dlq.Note, operator)
	got := f.end(i.ID, "Last")
	if len(got.Decisions) != 50 || got.Decisions[0].ID != "A" || got.Decisions[49].By != operator.Name {
		t.Errorf("%d decisions, from %v to %v", len(got.Decisions), got.Decisions[0], got.Decisions[len(got.Decisions)-1])
	}
	if len(got.Errors) != 50 || !cmp.Equal(got.Errors[0], first) || got.Errors[49].Code != "Last" {
		t.Errorf("%d errors, from %v to %v", len(got.Errors), got.Errors[0], got.Errors[len(got.Errors)-1])
	}
}

func testDue(t *testing.T, f *fixture) {
	var want []string
	for n, outbox := range []string{"wsOutbox", "skillOutbox", "wsOutbox"} {
		i := f.letter(outbox, map[string]string{"wsOutbox": "Anything", "skillOutbox": "SkillXpAdded"}[outbox], "x", int64(n))
		i.NextReplayAt = f.now.Add(time.Duration(n-3) * time.Minute)
		want = append(want, f.bury(i).ID)
	}
	later := f.die("wsOutbox", "Anything", "y", 1)
	f.die("tagOutbox", "TagLifecycleEvent", "t", 1) // another's outbox
	f.die("accOutbox", "WalletDeducted", "a", 1)    // has no time
	owned := []string{"skillOutbox", "wsOutbox"}
	due := func(limit int) ([]string, time.Time) {
		t.Helper()
		page, err := f.queue.Due(t.Context(), contracts.SafeAuto, owned, dlq.DueAfter{}, limit)
		if err != nil {
			t.Fatal(err)
		}
		ids := []string{}
		for _, i := range page.Items {
			ids = append(ids, i.ID)
			if i.Record != nil {
				t.Errorf("%s is due with its record", i.ID)
			}
		}
		return ids, page.Next
	}
	if got, next := due(10); !slices.Equal(got, want) || !next.Equal(later.NextReplayAt) {
		t.Errorf("got %v, next %s, want %v, next %s", got, next, want, later.NextReplayAt)
	}
	if got, next := due(2); !slices.Equal(got, want[:2]) || !next.Equal(f.item(want[2]).NextReplayAt) {
		t.Errorf("at most 2: got %v, next %s, want %v", got, next, want[:2])
	}
	for _, id := range want {
		if err := f.queue.Defer(t.Context(), f.item(id), f.now.Add(time.Hour), "older"); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.queue.Defer(t.Context(), later, f.now, "older"); err != nil {
		t.Fatal(err)
	}
	refused(t, f.queue.Defer(t.Context(), later, f.now.Add(time.Minute), "older"), dlq.Changed)
	if got, next := due(10); len(got) != 1 || got[0] != later.ID || !next.Equal(f.now.Add(time.Hour)) {
		t.Errorf("after deferring: got %v, next %s", got, next)
	}
	if page, err := f.queue.Due(t.Context(), contracts.SafeAuto, owned, dlq.DueAfter{At: f.now}, 10); len(page.Items) != 0 || err != nil {
		t.Errorf("after now: got %d, %v, want none", len(page.Items), err)
	}
	if page, err := f.queue.Due(t.Context(), contracts.SafeAuto, nil, dlq.DueAfter{}, 10); len(page.Items) != 0 || !page.Next.IsZero() || err != nil {
		t.Errorf("of no outbox: got %v, %s, %v", page.Items, page.Next, err)
	}
}

// TestEndOfWhatIsTooLarge: a document that has no room for more is still moved on.
func TestEndOfWhatIsTooLarge(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.die("wsOutbox", "Anything", "w1", 1)
	refuse := func() {
		f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Commit", Times: 1, Code: codes.InvalidArgument})
	}
	refuse()
	if got := f.end(i.ID, "Internal"); got.Replays != 1 || len(got.Errors) != 1 {
		t.Errorf("%d replays, %d errors, want 1 replay and no error added", got.Replays, len(got.Errors))
	}
	refuse()
	if got := f.end(i.ID); got.State != contracts.DeadReplayed {
		t.Errorf("got %s, want replayed", got.State)
	}
	if record := f.fields(i.RecordPath); record["status"] != "delivered" || record["deliveredAt"] != nil {
		t.Errorf("record is %v at %v, want its status alone", record["status"], record["deliveredAt"])
	}
}
