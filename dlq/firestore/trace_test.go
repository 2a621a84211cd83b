package firestore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/trace"
)

func testTrace(t *testing.T, f *fixture) {
	i := f.letter("accOutbox", "RoleChanged", "a1", 1)
	i.TraceID = "T"
	f.bury(i)
	held := f.letter("accOutbox", "WalletDeducted", "a1", 2)
	held.TraceID = "T"
	record := f.record(held)
	record["status"], record["attemptErrors"], record["attempts"] = "held", nil, 0
	retrying := f.record(held)
	retrying["idempotencyKey"], retrying["status"], retrying["nextAttemptAt"] = "r", "retrying", f.now.Add(time.Hour)
	delivered := f.record(held)
	delivered["idempotencyKey"], delivered["status"], delivered["attemptErrors"] = "d", "delivered", nil
	delivered["deliveredAt"], delivered["deliveredTargets"] = f.now, []any{"FUNNEL"}
	f.commit(
		dlq.Write{Collection: "accOutbox", ID: "held", Op: dlq.OpCreate, Fields: record},
		dlq.Write{Collection: "skillOutbox", ID: "retrying", Op: dlq.OpCreate, Fields: retrying},
		dlq.Write{Collection: "wsOutbox", ID: "delivered", Op: dlq.OpCreate, Fields: delivered},
	)
	f.decide(i.ID, dlq.Authorize, security)
	f.decide(i.ID, dlq.Replay, operator)
	f.end(i.ID, "Internal")
	f.decide(i.ID, dlq.Replay, operator)
	f.end(i.ID)
	if _, err := f.queue.Release(t.Context(), "a1", dlq.Release{Actor: security, Reason: "checked"}); err != nil {
		t.Fatal(err)
	}
	alerts, err := f.db.Collection(contracts.CollectionErrorLog).Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	f.commit(dlq.Write{Collection: contracts.CollectionErrorLog, ID: alerts[0].Ref.ID, Fields: map[string]any{dlq.AlertFieldPublishedAt: f.now}})
	f.die("accOutbox", "RoleChanged", "a9", 1) // another trace

	got, err := f.traces().Trace(t.Context(), "T")
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[trace.EventKind]int)
	var last time.Time
	for _, e := range got.Events {
		counts[e.Kind]++
		if e.At.Before(last) || e.Summary == "" {
			t.Errorf("event %+v after %s", e, last)
		}
		last = e.At
	}
	want := map[trace.EventKind]int{
		trace.EventAppended: 4, trace.EventAttemptFailed: 3, trace.EventRetryScheduled: 1, trace.EventDeadLettered: 1, trace.EventFrozen: 1,
		trace.EventAlertStored: 1, trace.EventAlertPublished: 1, trace.EventHeld: 1, trace.EventDecision: 3, trace.EventReplayEnded: 2,
		trace.EventRelease: 1, trace.EventDelivered: 1,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
		for _, e := range got.Events {
			t.Logf("%s %s %s: %s", e.At.Format(time.RFC3339Nano), e.Kind, e.RecordID, e.Summary)
		}
	}
	if len(got.Records) != 4 || len(got.DeadLetters) != 1 || len(got.Freezes) != 1 || got.Truncated {
		t.Errorf("%d records, %d dead letters, %d freezes, truncated %t", len(got.Records), len(got.DeadLetters), len(got.Freezes), got.Truncated)
	}
	for _, r := range got.Records {
		if r.Payload != nil || r.Fields != nil {
			t.Errorf("record %s comes with payload or fields", r.ID)
		}
	}
	_, err = f.traces().Trace(t.Context(), "none")
	refused(t, err, dlq.NotFound)
	_, err = f.traces().Trace(t.Context(), "")
	refused(t, err, dlq.Invalid)
}

// TestTraceOfWhatIsGone: the dead letter remembers what its record was.
func TestTraceOfWhatIsGone(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.die("tagOutbox", "TagLifecycleEvent", "t1", 1)
	f.end(i.ID)
	got, err := f.traces().Trace(t.Context(), i.TraceID)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []trace.EventKind
	for _, e := range got.Events {
		kinds = append(kinds, e.Kind)
	}
	want := []trace.EventKind{trace.EventAppended, trace.EventAttemptFailed, trace.EventDeadLettered, trace.EventReplayEnded}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Nobody tried to deliver a record that breaks its contract: each of its faults is told as what it was refused for.
func TestTraceOfARefusedRecord(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.letter("tagOutbox", "TagLifecycleEvent", "t1", 1)
	i.Reason = contracts.ContractViolation
	i.Errors = []contracts.AttemptError{{At: f.now, Code: string(contracts.ContractViolation), Message: "payload: missing"}}
	f.bury(i)
	got, err := f.traces().Trace(t.Context(), i.TraceID)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range got.Events {
		if e.Kind == trace.EventRefused || e.Kind == trace.EventAttemptFailed {
			told = append(told, string(e.Kind)+": "+e.Summary)
		}
	}
	want := []string{"refused: refused before any attempt: CONTRACT_VIOLATION: payload: missing"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestTraceIsBounded(t *testing.T) {
	f := setup(t, newCloud(t))
	for n := range 3 {
		var writes []dlq.Write
		for m := range 100 {
			i := f.letter("wsOutbox", "Anything", "w", int64(n*100+m))
			i.TraceID = "T"
			writes = append(writes, dlq.Write{Collection: "wsOutbox", ID: fmt.Sprint("r", n, "-", m), Op: dlq.OpCreate, Fields: f.record(i)})
		}
		f.commit(writes...)
	}
	got, err := f.traces().Trace(t.Context(), "T")
	if err != nil || len(got.Records) != 200 || !got.Truncated {
		t.Errorf("%d records, truncated %t, %v, want 200 of more", len(got.Records), got.Truncated, err)
	}
}

// 0 is a version that a record may have: one without a sound one is told apart.
func TestRecordsWithoutAVersionAreTold(t *testing.T) {
	f := setup(t, newCloud(t))
	for id, version := range map[string]any{"sound": 0, "negative": -1, "text": "3", "none": nil} {
		fields := map[string]any{contracts.FieldEventID: "e", contracts.FieldTraceID: "t", contracts.FieldAggregateVersion: version}
		if _, err := f.db.Collection("tagOutbox").Doc(id).Create(t.Context(), fields); err != nil {
			t.Fatal(err)
		}
	}
	timeline, err := f.traces().Trace(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	found, err := f.traces().Records(t.Context(), trace.RecordFilter{EventID: "e"})
	if err != nil {
		t.Fatal(err)
	}
	for name, records := range map[string][]trace.Record{"trace": timeline.Records, "records": found.Records} {
		got := make(map[string]bool)
		for _, r := range records {
			got[r.ID] = r.Versionless
		}
		if diff := cmp.Diff(map[string]bool{"sound": false, "negative": true, "text": true, "none": true}, got); diff != "" {
			t.Errorf("%s: without a version (-want +got):\n%s", name, diff)
		}
	}
}
