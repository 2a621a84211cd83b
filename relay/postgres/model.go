package postgres

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Table is where events are.
const Table = "outbox_events"

// OutboxEvent is a row of the table, as a GORM model for reading: it matches the schema exactly. The
// table is made by package migrations, not by AutoMigrate, and rows by AppendGORM, which keeps the order.
type OutboxEvent struct {
	ID            uuid.UUID       `gorm:"column:id;type:uuid;primaryKey"`
	EventType     EventType       `gorm:"column:event_type;type:event_type_enum;not null;index:outbox_events_event_type_idx"`
	AggregateType AggregateType   `gorm:"column:aggregate_type;type:aggregate_type_enum;not null;index:outbox_events_aggregate_idx,priority:1"`
	AggregateID   uuid.UUID       `gorm:"column:aggregate_id;type:uuid;not null;index:outbox_events_aggregate_idx,priority:2"`
	PayloadJSON   json.RawMessage `gorm:"column:payload_json;type:jsonb;not null"` // an OutboxPayloadEnvelope
	CreatedAt     time.Time       `gorm:"column:created_at;type:timestamptz;not null;default:now();<-:create"`
	PublishedAt   *time.Time      `gorm:"column:published_at;type:timestamptz;index:outbox_events_published_at_idx"`
	AttemptCount  int             `gorm:"column:attempt_count;type:integer;not null;default:0"`
	LastError     *string         `gorm:"column:last_error;type:text"`
}

// TableName implements GORM's Tabler.
func (OutboxEvent) TableName() string { return Table }
