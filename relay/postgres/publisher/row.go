package publisher

import (
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/relay/postgres"
)

// aggregate is whose rows are published in order.
type aggregate struct {
	kind string // aggregate_type
	id   uuid.UUID
}

// key names an aggregate in a statement.
func (a aggregate) key() string { return a.kind + "/" + a.id.String() }

// row is one of outbox_events that is not published.
type row struct {
	id        uuid.UUID
	eventType string
	aggregate aggregate
	payload   []byte // the envelope, as the database writes it
	createdAt time.Time
	timeless  bool // no message can have its created_at
	shapeless bool // its payload is no JSON object
	attempts  int
	// place counts the unpublished rows of its aggregate, as the claim saw them: 1 is the head.
	place int64
}

// record is the row as the router knows it, for its log, its samples and its breaker.
func (r *row) record() *contracts.Record {
	return &contracts.Record{
		Outbox: postgres.Table, ID: r.id.String(), EventID: r.id.String(), EventType: r.eventType, EventVersion: 1,
		AggregateType: r.aggregate.kind, AggregateID: r.aggregate.id.String(), IdempotencyKey: r.id.String(),
		Lane: lane, CreatedAt: r.createdAt,
	}
}

// fields tell in a log which row it is.
func (r *row) fields() []zap.Field {
	return []zap.Field{
		zap.String("event_id", r.id.String()), zap.String("event_type", r.eventType),
		zap.String("aggregate_type", r.aggregate.kind), zap.String("aggregate_id", r.aggregate.id.String()),
	}
}
