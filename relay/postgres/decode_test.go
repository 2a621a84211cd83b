package postgres

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

// published makes the message of an event, as the publisher does.
func published(t *testing.T, event Event, created time.Time) ([]byte, map[string]string) {
	t.Helper()
	rows, err := check(t.Context(), []Event{event})
	if err != nil {
		t.Fatal(err)
	}
	r := rows[0]
	return r.payload, map[string]string{
		AttrEventID: r.id.String(), AttrEventType: string(r.eventType), AttrAggregateType: string(r.aggregateType),
		AttrAggregateID: r.aggregateID.String(), AttrCreatedAt: created.UTC().Format(time.RFC3339Nano),
	}
}

// letters keeps what a consumer buries.
type letters struct {
	mu   sync.Mutex
	dead []inbox.DeadLetter
}

func (l *letters) Bury(_ context.Context, d inbox.DeadLetter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = append(l.dead, d)
	return nil
}

var quiet = slog.New(slog.DiscardHandler)

func TestInboxHandlesEachEventOnce(t *testing.T) {
	event := sample(uuid.NewString())
	event.Version, event.Actor = 3, &ActorRef{"user", "u-1"}
	created := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	data, attributes := published(t, event, created)
	given := maps.Clone(attributes)
	box := inbox.New(inbox.NewMemory(), "receipts", inbox.Options{Decode: Decode, Log: quiet})
	var got []*inbox.Event
	for range 3 {
		ack := box.Deliver(t.Context(), data, attributes, func(_ context.Context, e *inbox.Event) error { got = append(got, e); return nil })
		if !ack {
			t.Fatal("it is not acknowledged")
		}
	}
	if len(got) != 1 {
		t.Fatalf("its handler was called %d times, want once", len(got))
	}
	id := attributes[AttrEventID]
	want := contracts.Envelope{
		EventID: id, EventName: "order_created", EventVersion: 3, Producer: "outbox-publisher", TraceID: strings.ReplaceAll(id, "-", ""),
		IdempotencyKey: id, AggregateID: event.AggregateID, AggregateVersion: created.UnixMicro(), Payload: json.RawMessage(`{"total":12.50}`),
	}
	want.OccurredAt = got[0].OccurredAt
	if diff := cmp.Diff(want, got[0].Envelope); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if a := got[0].Attributes; a[AttrAggregateType] != "vendor_order" || a[AttrActorType] != "user" || a[AttrActorID] != "u-1" {
		t.Errorf("attributes are %v, want the aggregate's type and the actor", a)
	}
	if diff := cmp.Diff(given, attributes); diff != "" {
		t.Errorf("the message's own attributes were changed: %s", diff)
	}
}

func TestLaterEventWaitsForAFailedOne(t *testing.T) {
	aggregate := uuid.NewString()
	now := time.Now()
	firstData, first := published(t, sample(aggregate), now)
	laterData, later := published(t, sample(aggregate), now.Add(time.Microsecond))
	box := inbox.New(inbox.NewMemory(), "receipts", inbox.Options{Decode: Decode, Log: quiet, Hold: -1})
	fails := func(context.Context, *inbox.Event) error { return context.DeadlineExceeded }
	if box.Deliver(t.Context(), firstData, first, fails) {
		t.Fatal("what failed is acknowledged")
	}
	if box.Deliver(t.Context(), laterData, later, func(context.Context, *inbox.Event) error { t.Error("handled before the one that failed"); return nil }) {
		t.Error("acknowledged before the one that failed")
	}
}

func TestWhatBreaksTheContractIsBuried(t *testing.T) {
	for name, c := range map[string]struct {
		change func(data *[]byte, attributes map[string]string)
		want   string
	}{
		"no ID":        {func(_ *[]byte, a map[string]string) { delete(a, AttrEventID) }, `event_id is "", want a UUID`},
		"another ID":   {func(_ *[]byte, a map[string]string) { a[AttrEventID] = uuid.NewString() }, "eventId of the envelope is not the attribute"},
		"no type":      {func(_ *[]byte, a map[string]string) { delete(a, AttrEventType) }, "event_type is missing"},
		"no aggregate": {func(_ *[]byte, a map[string]string) { a[AttrAggregateID] = "x" }, `aggregate_id is "x", want a UUID`},
		"no time":      {func(_ *[]byte, a map[string]string) { a[AttrCreatedAt] = "soon" }, `created_at is "soon", want a time`},
		"no envelope":  {func(d *[]byte, _ map[string]string) { *d = []byte("hello") }, "data is no envelope"},
		"version 0": {func(d *[]byte, _ map[string]string) {
			*d = []byte(strings.Replace(string(*d), `"version":1`, `"version":0`, 1))
		}, "version is 0"},
		"data, no object": {func(d *[]byte, _ map[string]string) {
			*d = []byte(strings.Replace(string(*d), `{"total":12.50}`, `7`, 1))
		}, "payload is"},
	} {
		t.Run(name, func(t *testing.T) {
			data, attributes := published(t, sample(uuid.NewString()), time.Now())
			c.change(&data, attributes)
			var buried letters
			box := inbox.New(inbox.NewMemory(), "receipts", inbox.Options{Decode: Decode, DeadLetters: &buried, Log: quiet})
			ack := box.Deliver(t.Context(), data, attributes, func(context.Context, *inbox.Event) error { t.Error("handled"); return nil })
			if !ack || len(buried.dead) != 1 {
				t.Fatalf("acknowledged: %t, and %d are buried; want it buried", ack, len(buried.dead))
			}
			letter := buried.dead[0]
			if letter.Reason != contracts.ContractViolation || !strings.Contains(letter.Errors[0].Message, c.want) {
				t.Errorf("buried as %s: %s; want %s", letter.Reason, letter.Errors[0].Message, c.want)
			}
			if letter.Record.EventID != attributes[AttrEventID] || letter.Record.AggregateID != attributes[AttrAggregateID] {
				t.Errorf("its record is %+v, want what the attributes tell", letter.Record)
			}
		})
	}
}

// What is wrong with an envelope is logged and kept: it names the field, without the value that the decoder's own words hold.
func TestWhatIsWrongWithAnEnvelopeHoldsNoValue(t *testing.T) {
	for sent, want := range map[string]string{
		`{"occurredAt":"secret"}`:          "data is no envelope: occurredAt is no time as RFC 3339 has it",
		`{"occurredAt":4711}`:              "data is no envelope: occurredAt is no time as RFC 3339 has it",
		`{"version":4711.5}`:               "data is no envelope: json: cannot unmarshal number into Go struct field OutboxPayloadEnvelope.version of type int",
		`{"version":"secret"}`:             "data is no envelope: json: cannot unmarshal string into Go struct field OutboxPayloadEnvelope.version of type int",
		`{"version":1,"data":{"a":secret}`: "data is no envelope: invalid character 's' looking for beginning of value",
	} {
		_, _, err := Decode([]byte(sent), map[string]string{AttrEventID: "e"})
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v, want %q", sent, err, want)
		}
	}
}

// A dead letter is replayed in the relay's form, to the one consumer that buried it.
func TestReplayOfADeadLetterIsHandled(t *testing.T) {
	data, attributes := published(t, sample(uuid.NewString()), time.Now())
	var buried letters
	box := inbox.New(inbox.NewMemory(), "receipts", inbox.Options{Decode: Decode, DeadLetters: &buried, MaxTries: 1, Log: quiet})
	if !box.Deliver(t.Context(), data, attributes, func(context.Context, *inbox.Event) error { return context.DeadlineExceeded }) {
		t.Fatal("what is dead is not acknowledged")
	}
	letter := buried.dead[0]
	m := contracts.NewMessage(letter.Record, letter.Envelope, contracts.StandardLane, "T", "letter")
	m.Attributes[contracts.AttrConsumer] = "receipts"
	handled := 0
	for range 2 {
		if !box.Deliver(t.Context(), m.Data, m.Attributes, func(_ context.Context, e *inbox.Event) error {
			handled++
			if e.EventID != attributes[AttrEventID] {
				t.Errorf("its ID is %s", e.EventID)
			}
			return nil
		}) {
			t.Error("its replay is not acknowledged")
		}
	}
	if handled != 1 {
		t.Errorf("its replay was handled %d times, want once", handled)
	}
}
