package contracts

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var sampleTime = time.Date(2026, 2, 19, 12, 0, 0, 123_456_000, time.UTC)

// soundFields returns the fields of a sound WalletDeducted of accOutbox.
func soundFields(t testing.TB) map[string]any {
	t.Helper()
	o := defaultCatalog(t).Outbox("accOutbox")
	rec := sampleOf(rand.New(rand.NewPCG(1, 2)), o, o.Route("WalletDeducted"), "acc-1", 7, sampleTime)
	return rec.ProducerFields()
}

func TestDecodeRecordReadsEveryField(t *testing.T) {
	at := sampleTime
	fields := map[string]any{
		"eventId": "id", "eventType": "type", "eventVersion": int64(4), "aggregateType": "agg", "aggregateId": "a", "aggregateVersion": int64(0),
		"idempotencyKey": "key", "traceId": "trace", "traceparent": "parent", "producer": "p", "lane": "CRITICAL_LANE", "dlqTier": "SAFE_AUTO",
		"occurredAt": at, "createdAt": at.Add(1), "payload": map[string]any{"k": int64(1)}, "status": "retrying", "attempts": int64(2),
		"lastError": "oops", "nextAttemptAt": at.Add(2), "deliveredTargets": []any{"A", "B"}, "deliveredAt": at, "expireAt": at,
		"attemptErrors": []any{map[string]any{"time": at.Add(3), "attempt": int64(1), "target": "A", "code": "C", "message": "m"}},
		"shard":         int64(3), "extra": "is kept in Fields alone",
	}
	want := &Record{
		Outbox: "box", ID: "doc", EventID: "id", EventType: "type", EventVersion: 4, AggregateType: "agg", AggregateID: "a",
		IdempotencyKey: "key", TraceID: "trace", Traceparent: "parent", Producer: "p", Lane: CriticalLane, Tier: SafeAuto,
		OccurredAt: at, CreatedAt: at.Add(1), Shard: new(int64(3)), Payload: map[string]any{"k": int64(1)}, Status: Retrying, Attempts: 2,
		LastError: "oops", NextAttemptAt: at.Add(2), DeliveredTargets: []string{"A", "B"},
		AttemptErrors: []AttemptError{{At: at.Add(3), Attempt: 1, Target: "A", Code: "C", Message: "m"}}, Fields: fields,
	}
	got, faults := DecodeRecord("box", "doc", fields)
	if len(faults) > 0 {
		t.Errorf("faults: %v", faults)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRecordFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		change map[string]any // a value of gone removes the field
		want   string
	}{
		{"sound", nil, ""},
		{"missing string", map[string]any{"eventId": gone}, "eventId is missing"},
		{"null string", map[string]any{"traceId": nil}, "traceId is null"},
		{"integer for a string", map[string]any{"aggregateId": int64(7)}, "aggregateId is an integer, want a string"},
		{"string for an integer", map[string]any{"aggregateVersion": "7"}, "aggregateVersion is a string, want an integer"},
		{"double for an integer", map[string]any{"aggregateVersion": 7.0}, "aggregateVersion is a double, want an integer"},
		{"boolean for a string", map[string]any{"eventType": true}, "eventType is a boolean, want a string"},
		{"map for a string", map[string]any{"lane": map[string]any{}}, "lane is a map, want a string"},
		{"array for a string", map[string]any{"dlqTier": []any{}}, "dlqTier is an array, want a string"},
		{"bytes for a string", map[string]any{"idempotencyKey": []byte("x")}, "idempotencyKey is bytes, want a string"},
		{"string for a timestamp", map[string]any{"occurredAt": "2026-02-19T12:00:00Z"}, "occurredAt is a string, want a timestamp"},
		{"timestamp for a string", map[string]any{"status": sampleTime}, "status is a timestamp, want a string"},
		{"integer for a timestamp", map[string]any{"createdAt": int64(0)}, "createdAt is an integer, want a timestamp"},
		{"string for a map", map[string]any{"payload": "{}"}, "payload is a string, want a map"},
		{"missing payload", map[string]any{"payload": gone}, "payload is missing"},
		{"null payload", map[string]any{"payload": nil}, "payload is null"},
		{"version below one", map[string]any{"eventVersion": int64(0)}, "eventVersion is 0, want 1 or more"},
		{"negative aggregate version", map[string]any{"aggregateVersion": int64(-1)}, "aggregateVersion is -1, want 0 or more"},
		{"optional fields absent", map[string]any{"eventVersion": gone, "aggregateType": gone, "traceparent": gone, "producer": gone}, ""},
		{"optional field null", map[string]any{"traceparent": nil}, "traceparent is null"},
		{"optional field mistyped", map[string]any{"traceparent": int64(0)}, "traceparent is an integer, want a string"},
		{"malformed traceparent", map[string]any{"traceparent": "00-nonsense"}, ""},
		{"relay's fields null", map[string]any{"attempts": nil, "lastError": nil, "nextAttemptAt": nil, "deliveredTargets": nil, "deliveredAt": nil, "expireAt": nil, "attemptErrors": nil}, ""},
		{
			"relay's fields mistyped",
			map[string]any{"attempts": "1", "lastError": int64(1), "nextAttemptAt": "soon", "deliveredTargets": "A", "attemptErrors": int64(1), "deliveredAt": false, "expireAt": int64(1)},
			"attempts is a string, want an integer; lastError is an integer, want a string; nextAttemptAt is a string, want a timestamp; deliveredTargets is a string, want an array; attemptErrors is an integer, want an array; deliveredAt is a boolean, want a timestamp; expireAt is an integer, want a timestamp",
		},
		{
			"items of the relay's arrays mistyped",
			map[string]any{"deliveredTargets": []any{"A", int64(1), nil}, "attemptErrors": []any{"x", map[string]any{"attempt": "1"}}},
			"deliveredTargets[1] is an integer, want a string; deliveredTargets[2] is null, want a string; attemptErrors[0] is a string, want a map; attemptErrors[1].attempt is a string, want an integer",
		},
		{"negative attempts", map[string]any{"attempts": int64(-1)}, "attempts is -1, want 0 or more"},
		{"unknown Go type", map[string]any{"eventId": 7}, "eventId is a int, want a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, faults := DecodeRecord("accOutbox", "doc", changed(soundFields(t), c.change))
			if diff := cmp.Diff(c.want, faults.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// gone as a value removes a field.
var gone = new(int)

func changed(fields, change map[string]any) map[string]any {
	fields = maps.Clone(fields)
	for k, v := range change {
		if v == any(gone) {
			delete(fields, k)
		} else {
			fields[k] = v
		}
	}
	return fields
}

func TestDecodeRecordNamesEveryMissingField(t *testing.T) {
	rec, faults := DecodeRecord("box", "doc", nil)
	want := "eventId is missing; eventType is missing; aggregateId is missing; aggregateVersion is missing; idempotencyKey is missing; " +
		"traceId is missing; lane is missing; dlqTier is missing; occurredAt is missing; createdAt is missing; payload is missing; status is missing"
	if diff := cmp.Diff(want, faults.Error()); diff != "" {
		t.Error(diff)
	}
	if rec.Path() != "box/doc" || rec.EventVersion != 1 {
		t.Errorf("got %+v, want its place and version 1", rec)
	}
}

func TestDecodeRecordFillsWhatIsSound(t *testing.T) {
	fields := changed(soundFields(t), map[string]any{"eventId": int64(1), "occurredAt": gone, "deliveredTargets": []any{int64(1), "A"}})
	got, faults := DecodeRecord("accOutbox", "doc", fields)
	if len(faults) != 3 {
		t.Errorf("faults: %v, want 3", faults)
	}
	if got.AggregateID != "acc-1" || got.TraceID == "" || got.Lane != CriticalLane || len(got.DeliveredTargets) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestProducerFieldsRoundTrip(t *testing.T) {
	cat := defaultCatalog(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, o := range cat.Outboxes {
		want := cat.Sample(r, o, "agg/1", 5, sampleTime)
		got, faults := DecodeRecord(o.Name, want.ID, want.ProducerFields())
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		got.Fields = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	fields := (&Record{}).ProducerFields()
	for _, name := range []string{FieldAggregateType, FieldTraceparent, FieldProducer} {
		if _, ok := fields[name]; ok {
			t.Errorf("%s is written though it is empty", name)
		}
	}
}

func TestFields(t *testing.T) {
	got, err := Fields([]byte(`{
		"occurredAt": "2026-02-19T20:00:00.5+08:00", "createdAt": "yesterday", "aggregateVersion": 9007199254740993, "eventVersion": 1.0,
		"payload": {"at": "2026-02-19T12:00:00Z", "n": [1, 2.5, 1e3, -0, 9223372036854776000, -25000000000000000000]}, "attemptErrors": [{"time": "2026-02-19T12:00:00Z"}, 7], "attempts": null
	}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"occurredAt": time.Date(2026, 2, 19, 12, 0, 0, 500_000_000, time.UTC), "createdAt": "yesterday", "aggregateVersion": int64(9007199254740993), "eventVersion": 1.0,
		"payload":       map[string]any{"at": "2026-02-19T12:00:00Z", "n": []any{int64(1), 2.5, 1000.0, int64(0), float64(1 << 63), -2.5e19}},
		"attemptErrors": []any{map[string]any{"time": time.Date(2026, 2, 19, 12, 0, 0, 0, time.UTC)}, int64(7)}, "attempts": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, c := range map[string]struct{ data, want string }{
		"nothing":              {``, "EOF"},
		"not JSON":             {`{`, "unexpected EOF"},
		"a list":               {`[]`, "not a JSON object"},
		"null":                 {`null`, "not a JSON object"},
		"two values":           {`{} {}`, "more than one JSON value"},
		"invalid UTF-8":        {"{\"a\":\"\xff\"}", "not valid UTF-8"},
		"integer over 64 bits": {`{"payload":{"n":[9223372036854775808]}}`, "payload.n[0] does not fit into 64 bits"},
		"double out of range":  {`{"payload":{"n":1e999}}`, "payload.n does not fit into a double"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Fields([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// FuzzDecodeRecord wants no panic, and of a record without fault an envelope
// that equals encoding/json's.
func FuzzDecodeRecord(f *testing.F) {
	cat := defaultCatalog(f)
	sound, err := jsonOf(soundFields(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("accOutbox", sound)
	f.Add("wsOutbox", []byte(strings.ReplaceAll(string(sound), `"acc-1"`, `7`)))
	f.Add("nowhere", []byte(`{"payload":{"a":[{"b":null}]},"attemptErrors":[{}],"deliveredTargets":[1]}`))
	f.Add("wsOutbox", []byte(`{}`))
	f.Fuzz(func(t *testing.T, outbox string, data []byte) {
		rec, faults, err := DecodeJSON(outbox, "doc", data)
		if err != nil {
			return
		}
		checked := cat.Check(rec, faults)
		if (len(checked.Faults) == 0) != (checked.Data != nil) {
			t.Fatalf("faults %v, but %d bytes of data", checked.Faults, len(checked.Data))
		}
		if !checked.Lane.Valid() || !checked.Tier.Valid() {
			t.Fatalf("lane %q, tier %q", checked.Lane, checked.Tier)
		}
		if checked.Data == nil {
			return
		}
		want, err := referenceEnvelope(rec)
		if err != nil {
			t.Fatalf("encoding/json refuses a record without fault: %v", err)
		}
		if string(want) != string(checked.Data) {
			t.Errorf("got  %s\nwant %s", checked.Data, want)
		}
	})
}

func TestDecodeRecordBoundsTheFaultsOfAList(t *testing.T) {
	for _, field := range []string{FieldDeliveredTargets, FieldAttemptErrors} {
		t.Run(field, func(t *testing.T) {
			_, faults := DecodeRecord("wsOutbox", "id", map[string]any{field: slices.Repeat([]any{int64(1)}, 250)})
			got := slices.DeleteFunc(faults, func(f Fault) bool { return !strings.HasPrefix(f.Field, field) })
			if len(got) != maxFieldFaults+1 || got[maxFieldFaults].String() != field+" has 150 more faults" {
				t.Errorf("got %d faults, the last %v; want 100 and one that counts 150 more", len(got), got[len(got)-1])
			}
		})
	}
}
