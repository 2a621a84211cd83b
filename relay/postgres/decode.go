package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"outboxrelay/contracts"
)

// Attributes of a message. Its data is the envelope, its ordering key the aggregate's ID.
const (
	AttrEventID       = "event_id"
	AttrEventType     = "event_type"
	AttrAggregateType = "aggregate_type"
	AttrAggregateID   = "aggregate_id"
	AttrCreatedAt     = "created_at" // RFC 3339, UTC
)

// Attributes that Decode adds where the envelope names an actor.
const (
	AttrActorType = "actor_type"
	AttrActorID   = "actor_id"
)

// producer is what the messages are said to come from.
const producer = "outbox-publisher"

// Decode is the Decode of inbox.Options for a subscription to the publisher's topic. The payload of the event
// is the envelope's data, its version the envelope's, its idempotency key the event's ID, and its
// trace ID that ID without hyphens. The aggregate's version is created_at in microseconds, which
// puts the events of an aggregate in their order. The message's own attributes stay, and those of the actor are added.
// All that is wrong with a message is in the error.
func Decode(data []byte, attributes map[string]string) ([]byte, map[string]string, error) {
	if attributes[contracts.AttrEventID] != "" && attributes[AttrEventID] == "" {
		return data, attributes, nil // the replay of a dead letter
	}
	id := attributes[AttrEventID]
	out := maps.Clone(attributes)
	if out == nil {
		out = map[string]string{}
	}
	out[contracts.AttrEventID], out[contracts.AttrEventType], out[contracts.AttrAggregateID] = id, attributes[AttrEventType], attributes[AttrAggregateID]
	out[contracts.AttrIdempotencyKey], out[contracts.AttrProducer], out[contracts.AttrOutbox] = id, producer, Table
	out[contracts.AttrTraceID] = strings.ReplaceAll(id, "-", "")

	var faults contracts.Faults
	fault := func(field, problem string) { faults = append(faults, contracts.Fault{Field: field, Problem: problem}) }
	for _, name := range [...]string{AttrEventID, AttrAggregateID} {
		if uuid.Validate(attributes[name]) != nil {
			fault(name, fmt.Sprintf("is %q, want a UUID", bounded(attributes[name])))
		}
	}
	if attributes[AttrEventType] == "" {
		fault(AttrEventType, "is missing")
	}
	created, err := time.Parse(time.RFC3339, attributes[AttrCreatedAt])
	if err != nil || created.UnixMicro() < 0 {
		fault(AttrCreatedAt, fmt.Sprintf("is %q, want a time as RFC 3339 has it, of 1970 or later", bounded(attributes[AttrCreatedAt])))
	}
	var envelope OutboxPayloadEnvelope
	if err := json.Unmarshal(data, &envelope); err != nil {
		fault("data", "is no envelope: "+unlike(err))
		return data, out, faults
	}
	if envelope.EventID != id {
		fault("eventId", "of the envelope is not the attribute event_id")
	}
	if envelope.Version < 1 {
		fault("version", fmt.Sprintf("is %d, want 1 or more", envelope.Version))
	}
	if len(faults) > 0 {
		return data, out, faults
	}
	if a := envelope.Actor; a != nil {
		out[AttrActorType], out[AttrActorID] = a.Type, a.ID
	}
	body, err := json.Marshal(contracts.Envelope{
		EventID: id, EventName: attributes[AttrEventType], EventVersion: int64(envelope.Version), OccurredAt: envelope.OccurredAt, Producer: producer,
		TraceID: out[contracts.AttrTraceID], IdempotencyKey: id, AggregateID: attributes[AttrAggregateID], AggregateVersion: created.UnixMicro(),
		Payload: envelope.Data,
	})
	if err != nil {
		return data, out, err
	}
	return body, out, nil
}

// unlike says why data is no envelope, without the values that the decoder's own words hold.
func unlike(err error) string {
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		bad.Value, _, _ = strings.Cut(bad.Value, " ") // "number 12.5"
		return bad.Error()
	}
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return bad.Error() // names one character
	}
	return "occurredAt is no time as RFC 3339 has it"
}
