package publisher

import (
	"context"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// Attributes of a message. Its data is the row's envelope, its ordering key the aggregate's ID.
const (
	AttrEventID       = "event_id"
	AttrEventType     = "event_type"
	AttrAggregateType = "aggregate_type"
	AttrAggregateID   = "aggregate_id"
	AttrCreatedAt     = "created_at" // RFC 3339, UTC
)

// topic has the messages of rows delivered in place of the relay's own.
type topic struct{ ier.Target }

// Deliver implements ier.Target.
func (t topic) Deliver(ctx context.Context, parcels []ier.Parcel) []error {
	for i := range parcels {
		parcels[i].Message = message(parcels[i].Record, parcels[i].Message.Data)
	}
	return t.Target.Deliver(ctx, parcels)
}

func message(rec *contracts.Record, data []byte) *contracts.Message {
	return &contracts.Message{
		Data: data, OrderingKey: rec.AggregateID,
		Attributes: map[string]string{
			AttrEventID:       rec.EventID,
			AttrEventType:     rec.EventType,
			AttrAggregateType: rec.AggregateType,
			AttrAggregateID:   rec.AggregateID,
			AttrCreatedAt:     rec.CreatedAt.UTC().Format(time.RFC3339Nano),
		},
	}
}
