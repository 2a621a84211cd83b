package inbox_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

func TestContractIsJudgedFirst(t *testing.T) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(body map[string]any)
		want   string // of the fault; "": it is sound
	}{
		{"sound", func(map[string]any) {}, ""},
		{"unknown fields", func(body map[string]any) {
			body["sent_by"] = map[string]any{"x": 1}
			body["payload"].(map[string]any)["new_field"] = "x"
		}, ""},
		{"no event_id", func(body map[string]any) { delete(body, "event_id") }, "event_id is missing"},
		{"event_id is no UUID", func(body map[string]any) { body["event_id"] = "7" }, "event_id is not a UUID"},
		{"no event_name", func(body map[string]any) { delete(body, "event_name") }, "event_name is missing"},
		{"no event_version", func(body map[string]any) { delete(body, "event_version") }, "event_version is missing"},
		{"no occurred_at", func(body map[string]any) { delete(body, "occurred_at") }, "occurred_at is missing"},
		{"occurred_at is no time", func(body map[string]any) { body["occurred_at"] = "soon" }, "occurred_at is"},
		{"no producer", func(body map[string]any) { delete(body, "producer") }, "producer is missing"},
		{"no trace_id", func(body map[string]any) { delete(body, "trace_id") }, "trace_id is missing"},
		{"no idempotency_key", func(body map[string]any) { delete(body, "idempotency_key") }, "idempotency_key is missing"},
		{"no aggregate_id", func(body map[string]any) { delete(body, "aggregate_id") }, "aggregate_id is missing"},
		{"no aggregate_version", func(body map[string]any) { delete(body, "aggregate_version") }, "aggregate_version is missing"},
		{"aggregate_version is text", func(body map[string]any) { body["aggregate_version"] = "1" }, "aggregate_version is a string"},
		{"no payload", func(body map[string]any) { delete(body, "payload") }, "payload is missing"},
		{"payload is null", func(body map[string]any) { body["payload"] = nil }, "payload is null"},
		{"U+0000 in aggregate_id", func(body map[string]any) { body["aggregate_id"] = "a\x00b" }, "aggregate_id holds the character U+0000"},
		{"U+0000 in trace_id", func(body map[string]any) { body["trace_id"] = "\x00" }, "trace_id holds the character U+0000"},
		{"U+0000 in idempotency_key", func(body map[string]any) { body["idempotency_key"] = "k\x00" }, "idempotency_key holds the character U+0000"},
		{"an unknown event", func(body map[string]any) { body["event_name"] = "SkillForgotten" }, "event_name is"},
		{"an unknown version", func(body map[string]any) { body["event_version"] = 2 }, "event_version is 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var did effects
			var dead graveyard
			box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{
				Catalog: catalog, DeadLetters: &dead, Versions: map[string][]int64{"SkillXpAdded": {1}, "SkillXpDeducted": {1}},
			}))
			m := event(t, "acc-1", 1)
			var body map[string]any
			if err := json.Unmarshal(m.data, &body); err != nil {
				t.Fatal(err)
			}
			test.change(body)
			data, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			if !box.Deliver(t.Context(), data, m.attributes, did.handler(nil)) {
				t.Error("it is given back, want it acknowledged")
			}
			letters := dead.all()
			if test.want == "" {
				if len(letters) != 0 || len(did.calls) != 1 {
					t.Fatalf("handled %d times, dead letters %+v; want it handled", len(did.calls), letters)
				}
				return
			}
			if len(letters) != 1 || len(did.calls) != 0 {
				t.Fatalf("handled %d times and %d dead letters, want none and one", len(did.calls), len(letters))
			}
			if l := letters[0]; l.Reason != contracts.ContractViolation || !strings.Contains(l.Errors[0].Message, test.want) {
				t.Errorf("got %s: %+v, want %q", l.Reason, l.Errors, test.want)
			}
		})
	}
}

// Dead letters are told apart by their keys.
func TestMessagesWithoutAKeyAreToldApart(t *testing.T) {
	var did effects
	var dead graveyard
	box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead}))
	seen := map[string]bool{}
	for n, key := range []any{7, nil, ""} {
		for v := range 2 {
			m := event(t, "acc-1", int64(2*n+v+1))
			if !box.Deliver(t.Context(), with(t, m.data, map[string]any{"idempotency_key": key}), m.attributes, did.handler(nil)) {
				t.Errorf("with the key %v it is given back", key)
			}
		}
	}
	for _, l := range dead.all() {
		seen[l.Record.IdempotencyKey] = true
	}
	if len(seen) != 6 || seen[""] {
		t.Errorf("six messages have the keys %v", seen)
	}
}

// with is a message's body with other values.
func with(t testing.TB, data []byte, values map[string]any) []byte {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil {
		t.Fatal(err)
	}
	maps.Copy(body, values)
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// An event that names others is none of ours, whatever is wrong with it.
func TestEventForOthersIsAcknowledged(t *testing.T) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	name := func(outbox, consumer string) (understood map[string][]int64) {
		understood = make(map[string][]int64)
		for n, e := range catalog.Outbox(outbox).Events {
			named := *e
			named.Consumers = []string{consumer}
			catalog.Outbox(outbox).Events[n] = &named
			understood[e.Type] = []int64{7}
		}
		return understood
	}
	name("wsOutbox", "billing")
	another := name("skillOutbox", "analytics")
	for consumer, want := range map[string]int{"analytics": 1, "billing": 0, "unnamed": 1} {
		for _, versions := range []map[string][]int64{nil, another} {
			var did effects
			var dead graveyard
			box := inbox.New(inbox.NewMemory(), consumer, quiet(inbox.Options{Catalog: catalog, DeadLetters: &dead, Versions: versions}))
			m := event(t, "acc-1", 1)
			if !box.Deliver(t.Context(), m.data, m.attributes, did.handler(nil)) {
				t.Errorf("%s gives it back", consumer)
			}
			handled, letters := len(did.calls), len(dead.all())
			if handled+letters != want || versions != nil && handled > 0 {
				t.Errorf("%s, which understands %v, handled %d, dead letters %d; want %d together", consumer, versions, handled, letters, want)
			}
		}
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	var did effects
	var dead graveyard
	box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead}))
	for _, data := range []string{"", "no JSON", "[]", `{"event_id":`, "\xff"} {
		if !box.Deliver(t.Context(), []byte(data), map[string]string{"eventId": "e-1", "traceId": "t-1"}, did.handler(nil)) {
			t.Errorf("%q is given back", data)
		}
	}
	letters := dead.all()
	if len(letters) != 5 || len(did.calls) != 0 {
		t.Fatalf("%d dead letters and %d calls, want 5 and none", len(letters), len(did.calls))
	}
	if l := letters[1]; l.Record.EventID != "e-1" || l.Record.TraceID != "t-1" || string(l.Envelope) != "no JSON" || l.Record.IdempotencyKey == letters[2].Record.IdempotencyKey {
		t.Errorf("got %+v", l)
	}
}
