package publisher

import (
	"context"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/ier"
	"outboxrelay/relay/postgres"
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

// message has the attributes that postgres.Decode reads, and the row's envelope.
func message(rec *contracts.Record, data []byte) *contracts.Message {
	return &contracts.Message{
		Data: data, OrderingKey: rec.AggregateID,
		Attributes: map[string]string{
			postgres.AttrEventID:       rec.EventID,
			postgres.AttrEventType:     rec.EventType,
			postgres.AttrAggregateType: rec.AggregateType,
			postgres.AttrAggregateID:   rec.AggregateID,
			postgres.AttrCreatedAt:     rec.CreatedAt.UTC().Format(time.RFC3339Nano),
		},
	}
}
