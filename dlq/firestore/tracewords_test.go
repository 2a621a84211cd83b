package firestore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/trace"
)

// What a timeline says is what its documents say: nothing of what is to come of
// it, or has come.
func TestTraceSaysWhatIsKnown(t *testing.T) {
	f := setup(t, newCloud(t))
	safe := f.die("tagOutbox", "TagLifecycleEvent", "t1", 1)
	blocked := f.die("accOutbox", "RoleChanged", "a1", 1)
	if err := f.queue.Shelve(t.Context(), safe.ID, operator, "the export is old"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.queue.Release(t.Context(), "a1", dlq.Release{Actor: security, Reason: "checked"}); err != nil {
		t.Fatal(err)
	}
	released := dlq.Entry{
		ID: "released", At: time.Now().Add(time.Minute), Actor: dlq.Service().Name, Action: "released", Subject: dlq.SubjectFreeze, On: "a1",
		TraceID: blocked.TraceID, AggregateID: "a1",
	}
	if err := f.queue.Record(t.Context(), &released); err != nil {
		t.Fatal(err)
	}
	entries, err := f.db.Collection(contracts.CollectionAudit).Where("action", "==", "shelve").Documents(t.Context()).GetAll()
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries: %v", len(entries), err)
	}
	if _, err := entries[0].Ref.Delete(t.Context()); err != nil { // the dead letter outlives it
		t.Fatal(err)
	}
	said := func(trace string, kinds ...trace.EventKind) (out []string) {
		t.Helper()
		l, err := f.traces().Trace(t.Context(), trace)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range l.Events {
			if slices.Contains(kinds, e.Kind) {
				out = append(out, string(e.Kind)+": "+e.Summary)
			}
		}
		return out
	}
	want := []string{
		"release: " + security.Name + " asked for the release of aggregate a1",
		"released: aggregate a1 released: what was held may be delivered again",
	}
	if diff := cmp.Diff(want, said(blocked.TraceID, trace.EventRelease, trace.EventReleased)); diff != "" {
		t.Errorf("release (-want +got):\n%s", diff)
	}
	want = []string{"decision: " + operator.Name + " took it off its replays"}
	if diff := cmp.Diff(want, said(safe.TraceID, trace.EventDecision, trace.EventReplayEnded)); diff != "" {
		t.Errorf("shelved (-want +got):\n%s", diff)
	}
}
