package contracts

import (
	"slices"
	"time"
)

// Record is one outbox document, decoded. The names of its fields in Firestore
// are in the Field constants.
type Record struct {
	Outbox string // collection
	ID     string // document ID

	EventID          string
	EventType        string
	EventVersion     int64 // absent in Firestore means 1
	AggregateType    string
	AggregateID      string
	AggregateVersion int64
	IdempotencyKey   string
	TraceID          string
	Traceparent      string
	Producer         string // absent in Firestore means the outbox's slice, filled in by Catalog.Check
	Lane             Lane
	Tier             Tier
	OccurredAt       time.Time
	CreatedAt        time.Time
	Shard            *int64 // nil when it is absent or no integer; of use where the outbox has several shards
	Payload          map[string]any
	// PayloadJSON is the payload as its envelope has it, see PayloadWriter: it takes
	// Payload's place in a record that was decoded so. Empty: Payload it is.
	PayloadJSON string

	// Written by the relay.
	Status           Status
	Attempts         int // failed delivery attempts so far
	LastError        string
	NextAttemptAt    time.Time
	DeliveredTargets []string
	AttemptErrors    []AttemptError

	// Fields is the whole document as it was read, for the dead letter.
	Fields map[string]any
}

// Path returns "outbox/documentID".
func (r *Record) Path() string { return r.Outbox + "/" + r.ID }

// HasTarget reports whether target already acknowledged the record.
func (r *Record) HasTarget(target string) bool {
	return slices.Contains(r.DeliveredTargets, target)
}

// Names of a record's fields in Firestore.
const (
	FieldEventID          = "eventId"
	FieldEventType        = "eventType"
	FieldEventVersion     = "eventVersion"
	FieldAggregateType    = "aggregateType"
	FieldAggregateID      = "aggregateId"
	FieldAggregateVersion = "aggregateVersion"
	FieldIdempotencyKey   = "idempotencyKey"
	FieldTraceID          = "traceId"
	FieldTraceparent      = "traceparent"
	FieldProducer         = "producer"
	FieldLane             = "lane"
	FieldTier             = "dlqTier"
	FieldOccurredAt       = "occurredAt"
	FieldCreatedAt        = "createdAt"
	FieldShard            = "shard" // required where the outbox has several, see ShardOf; ignored elsewhere
	FieldPayload          = "payload"
	FieldStatus           = "status"
	FieldAttempts         = "attempts"
	FieldLastError        = "lastError"
	FieldNextAttemptAt    = "nextAttemptAt"
	FieldDeliveredTargets = "deliveredTargets"
	FieldDeliveredAt      = "deliveredAt"
	FieldExpireAt         = "expireAt"
	// FieldAttemptErrors keeps each failed attempt with the record, so that a
	// dead letter after a restart still tells all of them.
	FieldAttemptErrors = "attemptErrors"
)

// RecordFields lists the fields that the contract names: all but what the relay
// or a producer keeps beside them.
func RecordFields() []string {
	return []string{
		FieldEventID, FieldEventType, FieldEventVersion, FieldAggregateType, FieldAggregateID, FieldAggregateVersion, FieldIdempotencyKey,
		FieldTraceID, FieldTraceparent, FieldProducer, FieldLane, FieldTier, FieldOccurredAt, FieldCreatedAt, FieldShard, FieldPayload, FieldStatus,
		FieldAttempts, FieldLastError, FieldNextAttemptAt, FieldDeliveredTargets, FieldDeliveredAt, FieldExpireAt,
	}
}
