package postgres

import (
	"encoding/json"
	"time"
)

// OutboxPayloadEnvelope is what stands in payload_json and is the body of the message. Its form is
// fixed: fields are neither added, nor renamed, nor removed.
//
// A reader ignores what it does not know within Data, and refuses a Version that it does not know.
type OutboxPayloadEnvelope struct {
	// Version is that of Data's form for the event type, from 1 on. A field that is added to Data
	// and may be missing leaves it as it is; anything else that a reader could stumble over makes it one more.
	Version int `json:"version"`
	// EventID is the row's id, the idempotency key of every consumer.
	EventID string `json:"eventId"`
	// OccurredAt is when it happened, in the domain's view, in UTC.
	OccurredAt time.Time `json:"occurredAt"`
	// Actor is who caused it; nil: nobody in particular, such as a timer.
	Actor *ActorRef `json:"actor,omitempty"`
	// Data is the event's own, a JSON object.
	Data json.RawMessage `json:"data"`
}

// ActorRef says who caused an event. Like the envelope it never holds more about a person than the ID.
type ActorRef struct {
	Type string `json:"type"` // what it is: user, store, service, …
	ID   string `json:"id"`
}
