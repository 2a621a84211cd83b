package firestore_test

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"

	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
	"outboxrelay/dlq/trace"
)

func testUncover(t *testing.T, f *fixture) {
	i := f.die("accOutbox", "RoleChanged", "a1", 1)
	for _, who := range []dlq.Actor{viewer, operator, {}} {
		_, err := f.queue.Uncover(t.Context(), i.ID, who, "curious")
		refused(t, err, dlq.Forbidden)
	}
	_, err := f.queue.Uncover(t.Context(), i.ID, security, " ")
	refused(t, err, dlq.Invalid)
	_, err = f.queue.Uncover(t.Context(), "none", security, "curious")
	refused(t, err, dlq.NotFound)
	_, err = f.queue.Uncover(t.Context(), f.die("accOutbox", "WalletDeducted", "a2", 1).ID, security, "curious")
	refused(t, err, dlq.Conflict)
	if got := len(f.entries(i.ID)); got != 0 {
		t.Errorf("%d looks are audited, and nobody looked", got)
	}
	u, err := f.queue.Uncover(t.Context(), i.ID, security, " a report ")
	if err != nil {
		t.Fatal(err)
	}
	if u.Item.Record["payload"] == nil || u.Entry.Reason != "a report" || !u.Item.UpdateTime.Equal(i.UpdateTime) {
		t.Errorf("got %+v, %+v", u.Item, u.Entry)
	}
	entries := f.entries(i.ID)
	if len(entries) != 1 || entries[0].ID != u.Entry.ID || entries[0].Action != "uncover" || entries[0].Actor != security.Name || entries[0].TraceID != i.TraceID {
		t.Errorf("the audit has %+v", entries)
	}
}

// TestUncoverFailsClosed: without its audit entry nothing is shown, and with a
// lost answer it is written once.
func TestUncoverFailsClosed(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.die("accOutbox", "RoleChanged", "a1", 1)
	faults := f.cloud.embedded.Faults()
	faults.Add(localfirestore.Fault{Method: "Commit", Times: 10, Code: codes.PermissionDenied})
	if u, err := f.queue.Uncover(t.Context(), i.ID, security, "a report"); err == nil || u != nil {
		t.Errorf("got %+v, %v, want an error alone", u, err)
	}
	if got := len(f.entries(i.ID)); got != 0 {
		t.Errorf("%d looks are audited", got)
	}
	faults.Clear()
	faults.Add(localfirestore.Fault{Method: "Commit", Times: 1, LoseResponse: true, Code: codes.Internal})
	if u, err := f.queue.Uncover(t.Context(), i.ID, security, "a report"); err != nil || u.Item.Record["payload"] == nil {
		t.Errorf("got %+v, %v", u, err)
	}
	if got := len(f.entries(i.ID)); got != 1 {
		t.Errorf("%d looks are audited, want 1", got)
	}
}

func testRecords(t *testing.T, f *fixture) {
	i := f.die("accOutbox", "WalletDeducted", "a1", 1)
	other := f.record(i)
	other["eventId"], other["idempotencyKey"] = "other", "other"
	f.commit(dlq.Write{Collection: "wsOutbox", ID: "other", Op: dlq.OpCreate, Fields: other})
	for _, tc := range []struct {
		filter trace.RecordFilter
		want   int
	}{{trace.RecordFilter{EventID: i.EventID}, 1}, {trace.RecordFilter{AggregateID: "a1"}, 2}, {trace.RecordFilter{EventID: "none"}, 0}} {
		got, err := f.traces().Records(t.Context(), tc.filter)
		if err != nil || len(got.Records) != tc.want || got.Truncated {
			t.Errorf("%+v: got %d records, %v, want %d", tc.filter, len(got.Records), err, tc.want)
			continue
		}
		for _, r := range got.Records {
			if r.Payload != nil || r.Fields != nil || r.TraceID != i.TraceID {
				t.Errorf("%+v: got %+v", tc.filter, r)
			}
		}
	}
	for _, filter := range []trace.RecordFilter{{}, {EventID: "a", AggregateID: "b"}} {
		_, err := f.traces().Records(t.Context(), filter)
		refused(t, err, dlq.Invalid)
	}
}

func TestRecordsAreBounded(t *testing.T) {
	f := setup(t, newCloud(t))
	for _, outbox := range []string{"wsOutbox", "accOutbox"} {
		var writes []dlq.Write
		for n := range 60 {
			i := f.letter("accOutbox", "WalletDeducted", "w", int64(n))
			writes = append(writes, dlq.Write{Collection: outbox, ID: fmt.Sprint("r", n), Op: dlq.OpCreate, Fields: f.record(i)})
		}
		f.commit(writes...)
	}
	got, err := f.traces().Records(t.Context(), trace.RecordFilter{AggregateID: "w"})
	if err != nil || len(got.Records) != 100 || !got.Truncated {
		t.Errorf("%d records, truncated %t, %v, want 100 of more", len(got.Records), got.Truncated, err)
	}
}
