package contracts

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// envelopeFields are the names of an envelope's fields, and those that a record has
// for them.
var envelopeFields = [...]struct{ wire, record string }{
	{"event_id", FieldEventID},
	{"event_name", FieldEventType},
	{"event_version", FieldEventVersion},
	{"occurred_at", FieldOccurredAt},
	{"producer", FieldProducer},
	{"trace_id", FieldTraceID},
	{"idempotency_key", FieldIdempotencyKey},
	{"aggregate_id", FieldAggregateID},
	{"aggregate_version", FieldAggregateVersion},
	{"payload", FieldPayload},
}

// hasNul is a fault of what names an event: a text of Postgres cannot hold it, and a consumer whose inbox
// stands there could say nothing of the event. The relay, and Pub/Sub, carry it.
const hasNul = "holds the character U+0000"

// DecodeEnvelope reads the body of a message that was received, and its attributes, as
// the record that it was made of: with Fields, but without what only the outbox
// knows. Unknown fields are left out. The faults name, as the envelope does, every
// field that is missing, null, mistyped, or no sound identity; a record with faults
// holds what is sound. The error is for a body that is no JSON object.
//
// Whether the event is one that the catalog declares is judged by CheckReceived.
func DecodeEnvelope(data []byte, attributes map[string]string) (*Record, Faults, error) {
	body, err := Fields(data)
	if err != nil {
		return nil, nil, err
	}
	fields := make(map[string]any, 16)
	var faults Faults
	for _, f := range envelopeFields {
		v, ok := body[f.wire]
		if !ok {
			faults = append(faults, Fault{f.wire, "is missing"})
			continue
		}
		fields[f.record] = v
	}
	parseTimestamp(fields, FieldOccurredAt)
	lane := Lane(attributes[AttrLane])
	if !lane.Valid() {
		lane = StandardLane
	}
	fields[FieldLane], fields[FieldTier], fields[FieldStatus] = string(lane), string(ReviewRequired), string(Delivered)
	if trace := attributes[AttrTraceparent]; trace != "" {
		fields[FieldTraceparent] = trace
	}
	occurred, _ := fields[FieldOccurredAt].(time.Time)
	fields[FieldCreatedAt] = occurred
	key, _ := fields[FieldIdempotencyKey].(string)
	rec, found := DecodeRecord(attributes[AttrOutbox], DocumentID(key), fields)
	for _, f := range found {
		if f.Problem != "is missing" {
			faults = append(faults, received(f))
		}
	}
	if rec.EventID != "" && !isUUID(rec.EventID) {
		faults = append(faults, Fault{"event_id", "is not a UUID"})
	}
	for _, f := range envelopeFields {
		s, ok := fields[f.record].(string)
		switch {
		case ok && s == "":
			faults = append(faults, Fault{f.wire, "is empty"})
		case strings.Contains(s, "\x00"):
			faults = append(faults, Fault{f.wire, hasNul})
		case len(s) > MaxAttributeBytes && f.record != FieldPayload:
			faults = append(faults, Fault{f.wire, tooLong(s)}) // an index of a store may not hold it
		}
	}
	return rec, faults, nil
}

// CheckReceived judges a record that DecodeEnvelope found no fault with by what the
// catalog declares: its event type, its version, its payload's schema. The outbox is
// the record's own where that is known, and otherwise the first that declares the
// event type by name; the record's lane and tier become the catalog's.
func (c *Catalog) CheckReceived(rec *Record) Faults {
	o := c.outboxOf(rec)
	if o == nil {
		return Faults{{"event_name", "is " + quoted(rec.EventType) + ", which the catalog does not declare"}}
	}
	rec.Outbox = o.Name
	if route := o.Route(rec.EventType); route != nil {
		rec.Lane, rec.Tier = route.Lane, route.Tier
		rec.Fields[FieldLane], rec.Fields[FieldTier] = string(route.Lane), string(route.Tier)
	}
	if o.Shards > 1 {
		shard := int64(ShardOf(rec.AggregateID, o.Shards))
		rec.Shard, rec.Fields[FieldShard] = &shard, shard
	}
	var faults Faults
	for _, f := range c.Check(rec, nil).Faults {
		faults = append(faults, received(f))
	}
	return faults
}

func (c *Catalog) outboxOf(rec *Record) *Outbox {
	if o := c.Outbox(rec.Outbox); o != nil {
		return o
	}
	for _, o := range c.Outboxes {
		if slices.ContainsFunc(o.Events, func(e *EventRoute) bool { return e.Type == rec.EventType }) {
			return o
		}
	}
	return nil
}

// received names a fault's field as the envelope does.
func received(f Fault) Fault {
	first, rest, nested := strings.Cut(f.Field, ".")
	for _, e := range envelopeFields {
		if e.record == first {
			first = e.wire
			break
		}
	}
	if nested {
		first += "." + rest
	}
	return Fault{Field: cmp.Or(first, f.Field), Problem: f.Problem}
}
