package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"outboxrelay/contracts"
)

// MaxEnvelopeBytes is how large an envelope may be, as the database writes it. Pub/Sub takes messages
// of 10 MB, attributes and all; a tenth is left for these and for what a client adds.
const MaxEnvelopeBytes = 9_000_000

// maxActorText bounds each text of an ActorRef, in bytes.
const maxActorText = 1 << 10

// row is what is inserted for an event.
type row struct {
	id            uuid.UUID
	eventType     EventType
	aggregateType AggregateType
	aggregateID   uuid.UUID
	payload       []byte
}

// check makes the rows of events, or an InvalidError.
func check(ctx context.Context, events []Event) ([]row, error) {
	rows := make([]row, len(events))
	invalid := &InvalidError{Of: len(events)}
	now := time.Now()
	for i := range events {
		var faults contracts.Faults
		if rows[i], faults = checkOne(ctx, &events[i], now); len(faults) > 0 {
			invalid.Events = append(invalid.Events, InvalidEvent{Index: i, Type: events[i].Type, Faults: faults})
		}
	}
	if len(invalid.Events) > 0 {
		return nil, invalid
	}
	return rows, nil
}

func checkOne(ctx context.Context, e *Event, now time.Time) (row, contracts.Faults) {
	var faults contracts.Faults
	fault := func(field, problem string) { faults = append(faults, contracts.Fault{Field: field, Problem: problem}) }
	r := row{id: e.ID, eventType: e.Type, aggregateType: e.AggregateType}
	if !e.Type.Valid() {
		fault("event_type", unknown(string(e.Type), allEventTypes))
	}
	if !e.AggregateType.Valid() {
		fault("aggregate_type", unknown(string(e.AggregateType), allAggregateTypes))
	}
	var err error
	if r.aggregateID, err = uuid.Parse(e.AggregateID); err != nil {
		fault("aggregate_id", fmt.Sprintf("is %q, want a UUID", bounded(e.AggregateID)))
	}
	if r.id == uuid.Nil {
		r.id = uuid.Must(uuid.NewV7()) // fails only without a source of random numbers
	}
	envelope := OutboxPayloadEnvelope{Version: e.Version, EventID: r.id.String(), OccurredAt: e.OccurredAt, Actor: e.Actor}
	if envelope.Version == 0 {
		envelope.Version = 1
	}
	if envelope.Version < 0 {
		fault("version", fmt.Sprintf("is %d, want 1 or more", e.Version))
	}
	if envelope.OccurredAt.IsZero() {
		envelope.OccurredAt = now
	}
	envelope.OccurredAt = envelope.OccurredAt.UTC().Truncate(time.Microsecond)
	if year := envelope.OccurredAt.Year(); year < 1 || year > 9999 {
		fault("occurred_at", fmt.Sprintf("is in the year %d, want 1 to 9999", year))
	}
	if envelope.Actor == nil {
		envelope.Actor = actorOf(ctx)
	}
	if a := envelope.Actor; a != nil {
		for _, f := range [...]struct{ name, text string }{{"actor.type", a.Type}, {"actor.id", a.ID}} {
			if problem := actorProblem(f.text); problem != "" {
				fault(f.name, problem)
			}
		}
	}
	data, problems := dataOf(e.Data)
	for _, problem := range problems {
		fault("data", problem)
	}
	if len(faults) > 0 {
		return r, faults
	}
	envelope.Data = data
	payload, err := json.Marshal(envelope)
	if err != nil {
		fault("", err.Error())
		return r, faults
	}
	if size := storedSize(payload); size > MaxEnvelopeBytes {
		fault("data", fmt.Sprintf("makes an envelope of %d bytes, want %d at most: keep what is large elsewhere, and name it here", size, MaxEnvelopeBytes))
	}
	r.payload = payload
	return r, faults
}

func actorProblem(text string) string {
	switch {
	case text == "":
		return "is empty"
	case len(text) > maxActorText:
		return fmt.Sprintf("has %d bytes, want %d at most", len(text), maxActorText)
	case !utf8.ValidString(text):
		return "is not valid UTF-8"
	case strings.ContainsRune(text, 0):
		return "holds the character U+0000, which Postgres does not store"
	}
	return ""
}
