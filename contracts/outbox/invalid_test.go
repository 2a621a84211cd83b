package outbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
)

// All faults of all events are told at once, and nothing is written.
func TestInvalidEventsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	_, err := s.append(t.Context(),
		outbox.Event{Type: "WalletCredited", AggregateVersion: -1, EventID: "7", Payload: map[string]any{"accountId": 7, "amount": "ten"}},
		credited(1, 1),
		outbox.Event{Type: "Surprise", AggregateID: "a"},
		outbox.Event{Type: "WalletCredited", AggregateID: "a", Version: 2, Payload: map[string]any{"accountId": 7}},
	)
	invalid, ok := errors.AsType[*outbox.InvalidError](err)
	if !ok {
		t.Fatalf("append: %v, want an *InvalidError", err)
	}
	want := []outbox.InvalidEvent{
		{Index: 0, Type: "WalletCredited", Outbox: "accOutbox", Faults: contracts.Faults{
			{Field: "aggregateVersion", Problem: "is -1, want 0 or more"},
			{Field: "eventId", Problem: "is not a UUID"},
			{Field: "aggregateId", Problem: "is empty"},
			{Field: "payload.accountId", Problem: "is a number, want a string"},
			{Field: "payload.amount", Problem: "does not match ^-?[0-9]+([.][0-9]+)?$"},
		}},
		{Index: 2, Type: "Surprise", Faults: contracts.Faults{
			{Field: "payload", Problem: "is missing"},
			{Field: "eventType", Problem: `is "Surprise", which no outbox declares by name: name the outbox`},
		}},
		{Index: 3, Type: "WalletCredited", Outbox: "accOutbox", Faults: contracts.Faults{
			{Field: "eventVersion", Problem: "is 2, want 1 as the catalog declares"},
			{Field: "payload.accountId", Problem: "is a number, want a string"},
		}},
	}
	if diff := cmp.Diff(want, invalid.Events); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if s.written() != 0 || s.records("accOutbox") != 0 {
		t.Errorf("%d business writes and %d records, want none", s.written(), s.records("accOutbox"))
	}
}

// An event finds its outbox by a type that one of them declares by name. A pattern
// has to be asked for, as it would take what is misspelt.
func TestOutboxOfAnEvent(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	for _, tc := range []struct{ eventType, named, want, fault string }{
		{"RoleChanged", "", "accOutbox", ""},
		{"RoleChangd", "", "", "no outbox declares"},
		{"WorkspaceRenamed", "", "", "no outbox declares"},
		{"WorkspaceRenamed", "wsOutbox", "wsOutbox", ""},
		{"AuditEvent", "", "", "is declared by tagOutbox, accOutbox"},
		{"AuditEvent", "orgOutbox", "orgOutbox", ""},
		{"RoleChanged", "orgOutbox", "", "orgOutbox does not declare"},
		{"RoleChanged", "noOutbox", "", "the catalog does not declare"},
		{"", "", "", "eventType is empty"},
		{"*", "", "", "no outbox declares"},
	} {
		records, err := s.Records(t.Context(), outbox.Event{Type: tc.eventType, Outbox: tc.named, AggregateID: "a", Payload: map[string]any{}})
		switch {
		case tc.fault == "" && err != nil, tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)):
			t.Errorf("%s in %q: %v, want %q", tc.eventType, tc.named, err, tc.fault)
		case err == nil && records[0].Document.Parent.ID != tc.want:
			t.Errorf("%s in %q goes to %s, want %s", tc.eventType, tc.named, records[0].Document.Parent.ID, tc.want)
		}
	}
}

// in is an event of the outbox that takes any payload.
func in(payload any) outbox.Event {
	return outbox.Event{Type: "Noted", Outbox: "wsOutbox", AggregateID: "ws-1", AggregateVersion: 1, Payload: payload}
}

// nested returns maps within each other, so many.
func nested(n int) any {
	var v any = "deep"
	for range n {
		v = map[string]any{"in": v}
	}
	return v
}

// What Firestore would refuse, or the relay could not send on, is told before the
// write: each of these, tried with Firestore itself, fails there.
func TestWhatFirestoreRefusesIsInvalid(t *testing.T) { whatFirestoreRefusesIsInvalid(t, onEmbedded(t)) }

func TestWhatFirestoreRefusesIsInvalidOnGoogle(t *testing.T) {
	whatFirestoreRefusesIsInvalid(t, onGoogle(t))
}

func whatFirestoreRefusesIsInvalid(t *testing.T, s *slice) {
	for name, tc := range map[string]struct {
		payload map[string]any
		want    string
	}{
		"an array within an array": {map[string]any{"a": []any{int64(1), []any{}}}, "payload.a[1] is an array directly within an array"},
		"a reserved name":          {map[string]any{"a": map[string]any{"__x__": 1}}, "payload.a has a key that is reserved"},
		"an empty name":            {map[string]any{"": 1}, "payload has a key that is empty"},
		"a long name":              {map[string]any{strings.Repeat("x", 1501): 1}, "payload has a key that makes a path of 1509 bytes"},
		"too deep":                 {nested(21).(map[string]any), "lies deeper than 20 levels"},
		"a long text":              {map[string]any{"a": strings.Repeat("x", 1<<20-88)}, "payload.a is 1048488 bytes long"},
		"a large document":         {map[string]any{"a": strings.Repeat("x", 1<<19), "b": make([]byte, 1<<19)}, "makes a document of 1049"},
		"a time before the first":  {map[string]any{"a": time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)}, "payload.a is a timestamp before the year 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Records(t.Context(), in(tc.payload))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %.300v, want %q", err, tc.want)
			}
			if _, err := s.client.Collection("wsOutbox").NewDoc().Create(t.Context(), map[string]any{"payload": tc.payload}); err == nil {
				t.Error("Firestore takes it")
			}
		})
	}
}

// What is just within the limits is accepted, and Firestore takes it.
func TestWithinTheLimits(t *testing.T)         { withinTheLimits(t, onEmbedded(t)) }
func TestWithinTheLimitsOnGoogle(t *testing.T) { withinTheLimits(t, onGoogle(t)) }

func withinTheLimits(t *testing.T, s *slice) {
	for i, payload := range []any{
		nested(20),
		map[string]any{strings.Repeat("x", 1492): true},
		map[string]any{"..": 1, "a.b": 2, "`": 3, "__": 4, "___": nil},
		map[string]any{"a": strings.Repeat("x", 1<<20-relayRoom-800)},
		map[string]any{"first": time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), "last": time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
	} {
		event := in(payload)
		event.AggregateVersion = int64(i)
		result := s.mustAppend(event)[0]
		if _, checked := s.stored(result.Document); checked.Faults.Err() != nil {
			t.Errorf("payload %d: the relay's check: %v", i, checked.Faults)
		}
	}
}

// relayRoom is what a record leaves to the relay, in bytes.
const relayRoom = 16 << 10

// The relay's own fields fit into the largest record that is accepted.
func TestLargestRecordLeavesRoomForTheRelay(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	least, most := 1<<19, 1<<20
	for least+1 < most {
		size := (least + most) / 2
		if _, err := s.Records(t.Context(), in(map[string]any{"a": strings.Repeat("x", size)})); err == nil {
			least = size
		} else {
			most = size
		}
	}
	result := s.mustAppend(in(map[string]any{"a": strings.Repeat("x", least)}))[0]
	long := strings.Repeat("e", 1024)
	var failed []map[string]any
	for i := range 9 { // three attempts at three targets
		failed = append(failed, map[string]any{"time": time.Now(), "attempt": i, "target": strings.Repeat("T", 100), "code": "UNAVAILABLE", "message": long})
	}
	_, err := result.Document.Update(t.Context(), []firestore.Update{
		{Path: "lastError", Value: long},
		{Path: "attemptErrors", Value: failed},
		{Path: "deliveredTargets", Value: []string{strings.Repeat("T", 100)}},
		{Path: "expireAt", Value: time.Now()},
	})
	if err != nil {
		t.Errorf("what the relay writes does not fit: %v", err)
	}
}

// Events that are more than a commit takes are refused together.
func TestEventsLargerThanACommit(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	var events []outbox.Event
	for i := range 12 {
		event := in(map[string]any{"a": strings.Repeat("x", 1_000_000)})
		event.AggregateVersion = int64(i)
		events = append(events, event)
	}
	if _, err := s.Records(t.Context(), events...); err == nil || !strings.Contains(err.Error(), "together larger than the 10485760 bytes of a commit") {
		t.Errorf("12 MB of events: %.300v", err)
	}
	if _, err := s.Records(t.Context(), events[:9]...); err != nil {
		t.Errorf("9 MB of events: %.300v", err)
	}
}

func TestPayloads(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	type named string
	type line struct {
		SKU   string    `json:"sku"`
		Count int       `json:"count"`
		At    time.Time `json:"at"`
	}
	at := time.Date(2026, 2, 19, 12, 0, 0, 123456789, time.UTC)
	loop := map[string]any{}
	loop["again"] = loop
	for name, tc := range map[string]struct {
		payload any
		want    map[string]any
		fault   string
	}{
		"a map": {
			payload: map[string]any{
				"int": 1, "uint": uint8(2), "float": float32(0.5), "named": named("n"), "texts": []string{"a"}, "counts": map[string]int{"a": 1},
				"time": at, "bytes": []byte{1}, "null": nil, "lines": []line{{"a", 1, at}}, "pointer": &line{"b", 2, at}, "none": (*line)(nil), "array": [2]bool{true, false},
			},
			want: map[string]any{
				"int": int64(1), "uint": int64(2), "float": 0.5, "named": "n", "texts": []any{"a"}, "counts": map[string]any{"a": int64(1)},
				"time": at.Truncate(time.Microsecond), "bytes": []byte{1}, "null": nil, "none": nil, "array": []any{true, false},
				"lines":   []any{map[string]any{"sku": "a", "count": int64(1), "at": "2026-02-19T12:00:00.123456789Z"}},
				"pointer": map[string]any{"sku": "b", "count": int64(2), "at": "2026-02-19T12:00:00.123456789Z"},
			},
		},
		"a struct":          {payload: line{"a", 1, at}, want: map[string]any{"sku": "a", "count": int64(1), "at": "2026-02-19T12:00:00.123456789Z"}},
		"nothing":           {payload: nil, fault: "payload is missing"},
		"a nil map":         {payload: map[string]any(nil), fault: "payload is missing"},
		"no object":         {payload: []string{"a"}, fault: "payload is a []string, want a map"},
		"a server's time":   {payload: map[string]any{"at": firestore.ServerTimestamp}, fault: "payload.at is a firestore.sentinel: a payload holds values alone"},
		"an increment":      {payload: map[string]any{"n": firestore.Increment(1)}, fault: "nothing that Firestore would compute"},
		"a reference":       {payload: map[string]any{"r": s.client.Doc("a/b")}, fault: "payload.r is a reference"},
		"a function":        {payload: map[string]any{"f": func() {}}, fault: "payload.f cannot be written as JSON, being a func()"},
		"too large a count": {payload: map[string]any{"n": uint64(1 << 63)}, fault: "payload.n does not fit into 64 bits"},
		"one in a struct":   {payload: struct{ N uint64 }{1 << 63}, fault: "payload holds a number that does not fit into 64 bits"},
		"itself":            {payload: loop, fault: "lies deeper than 20 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := s.Records(t.Context(), in(tc.payload))
			if tc.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fault) {
					t.Errorf("error %.400v, want %q", err, tc.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, records[0].Data()["payload"]); diff != "" {
				t.Errorf("payload (-want +got):\n%s", diff)
			}
		})
	}
}

// The caller's payload is neither changed nor kept.
func TestPayloadIsCopied(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	given := map[string]any{"list": []any{1}, "bytes": []byte{1}}
	records, err := s.Records(t.Context(), in(given))
	if err != nil {
		t.Fatal(err)
	}
	given["list"].([]any)[0] = 2
	given["bytes"].([]byte)[0] = 2
	want := map[string]any{"list": []any{int64(1)}, "bytes": []byte{1}}
	if diff := cmp.Diff(want, records[0].Data()["payload"]); diff != "" {
		t.Errorf("payload (-want +got):\n%s", diff)
	}
}

// A fault never repeats a value.
func TestFaultsHoldNoValues(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	const secret = "s3cret"
	for i, payload := range []any{
		map[string]any{"accountId": 7, "amount": secret}, map[string]any{"amount": []any{[]any{secret}}}, struct{ F func() }{}, telltale{}, []string{secret},
	} {
		event := credited(1, 1)
		event.Payload = payload
		if _, err := s.Records(t.Context(), event); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("payload %d: %v", i, err)
		}
	}
}

// telltale is a type whose error in JSON tells what it holds.
type telltale struct{}

func (telltale) MarshalJSON() ([]byte, error) { return nil, fmt.Errorf("cannot write s3cret") }
