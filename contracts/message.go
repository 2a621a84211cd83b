package contracts

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Envelope is the JSON body of a message on a target's topic.
type Envelope struct {
	EventID          string          `json:"event_id"`
	EventName        string          `json:"event_name"`
	EventVersion     int64           `json:"event_version"`
	OccurredAt       time.Time       `json:"occurred_at"`
	Producer         string          `json:"producer"`
	TraceID          string          `json:"trace_id"`
	IdempotencyKey   string          `json:"idempotency_key"`
	AggregateID      string          `json:"aggregate_id"`
	AggregateVersion int64           `json:"aggregate_version"`
	Payload          json.RawMessage `json:"payload"`
}

// Names of a message's attributes.
const (
	AttrEventID          = "eventId"
	AttrEventType        = "eventType"
	AttrEventVersion     = "eventVersion"
	AttrAggregateID      = "aggregateId"
	AttrAggregateVersion = "aggregateVersion"
	AttrIdempotencyKey   = "idempotencyKey"
	AttrTraceID          = "traceId"
	AttrTraceparent      = "traceparent"
	AttrLane             = "lane"
	AttrOutbox           = "outbox"
	AttrTarget           = "target"
	AttrProducer         = "producer"
	AttrReplay           = "replay"
	// AttrConsumer is on the replay of a consumer's dead letter alone: the consumer
	// that it is for. The inboxes of all others acknowledge it without an effect.
	AttrConsumer = "consumer"
)

// Message is what one target is given for one record.
type Message struct {
	Data        []byte // the Envelope as JSON; shared by the messages of one record, never written to
	Attributes  map[string]string
	OrderingKey string
}

// MarshalEnvelope renders rec's envelope. It fails only on a payload that JSON
// cannot carry, which Catalog.Check names as faults.
func MarshalEnvelope(rec *Record) ([]byte, error) {
	scan := &payloadScan{size: len(rec.PayloadJSON)}
	if rec.PayloadJSON == "" {
		scan = scanPayload(rec.Payload)
	}
	faults := scan.faults
	if !jsonTime(rec.OccurredAt) {
		faults = append(faults, Fault{FieldOccurredAt, "is outside the years 0 to 9999"})
	}
	if err := faults.Err(); err != nil {
		return nil, fmt.Errorf("encode envelope: %w", err)
	}
	return encodeEnvelope(rec, scan.size), nil
}

// NewMessage builds the message of rec for target. lane is the lane that the
// record runs in (the catalog's, where the two disagree). replay is the dead
// letter's ID on a replay and empty otherwise; escapes can make it longer than
// an attribute may be, and then it is cut.
func NewMessage(rec *Record, data []byte, lane Lane, target, replay string) *Message {
	attrs := map[string]string{
		AttrEventID:          rec.EventID,
		AttrEventType:        rec.EventType,
		AttrEventVersion:     strconv.FormatInt(rec.EventVersion, 10),
		AttrAggregateID:      rec.AggregateID,
		AttrAggregateVersion: strconv.FormatInt(rec.AggregateVersion, 10),
		AttrIdempotencyKey:   rec.IdempotencyKey,
		AttrTraceID:          rec.TraceID,
		AttrLane:             string(lane),
		AttrOutbox:           rec.Outbox,
		AttrTarget:           target,
		AttrProducer:         rec.Producer,
	}
	if rec.Traceparent != "" {
		attrs[AttrTraceparent] = rec.Traceparent
	}
	if replay != "" {
		attrs[AttrReplay] = ClipTo(replay, MaxAttributeBytes)
	}
	return &Message{Data: data, Attributes: attrs, OrderingKey: rec.AggregateID}
}

// messageSize bounds the bytes that Pub/Sub counts for the largest message of
// rec: the one for the target with the longest name, and on a replay.
func messageSize(rec *Record, data []byte, route *EventRoute) int {
	// Names, lengths and tags of all attributes on the wire, the lane's value
	// and the two versions' digits included.
	const fixed = 512
	target := 0
	for _, t := range route.Targets {
		target = max(target, len(t))
	}
	return len(data) + len(rec.EventID) + len(rec.EventType) + 2*len(rec.AggregateID) + len(rec.IdempotencyKey) +
		len(rec.TraceID) + len(rec.Traceparent) + len(rec.Producer) + len(rec.Outbox) + target + MaxAttributeBytes + fixed
}
