package contracts

import (
	"fmt"
	"time"
)

// DecodeRecord reads one outbox document. fields are plain Go values: nil,
// bool, int64, float64, string, []byte, time.Time, []any and map[string]any.
// They are kept, not copied. The faults name every field that is missing, null,
// mistyped or out of range; the Record holds what is sound. Whether the values
// agree with each other and with the catalog is judged by Catalog.Check.
//
// Null in a field that only the relay writes means that it is not there yet.
func DecodeRecord(outbox, id string, fields map[string]any) (*Record, Faults) {
	d := decoder{fields: fields}
	rec := &Record{
		Outbox: outbox,
		ID:     id,

		EventID:          d.text(FieldEventID, required),
		EventType:        d.text(FieldEventType, required),
		EventVersion:     d.integer(FieldEventVersion, optional, 1, 1),
		AggregateType:    d.text(FieldAggregateType, optional),
		AggregateID:      d.text(FieldAggregateID, required),
		AggregateVersion: d.integer(FieldAggregateVersion, required, 0, 0),
		IdempotencyKey:   d.text(FieldIdempotencyKey, required),
		TraceID:          d.text(FieldTraceID, required),
		Traceparent:      d.text(FieldTraceparent, optional),
		Producer:         d.text(FieldProducer, optional),
		Lane:             Lane(d.text(FieldLane, required)),
		Tier:             Tier(d.text(FieldTier, required)),
		OccurredAt:       d.timestamp(FieldOccurredAt, required),
		CreatedAt:        d.timestamp(FieldCreatedAt, required),
		Payload:          d.object(FieldPayload),

		Status:           Status(d.text(FieldStatus, required)),
		Attempts:         int(d.integer(FieldAttempts, relayWritten, 0, 0)),
		LastError:        d.text(FieldLastError, relayWritten),
		NextAttemptAt:    d.timestamp(FieldNextAttemptAt, relayWritten),
		DeliveredTargets: d.texts(FieldDeliveredTargets),
		AttemptErrors:    d.attemptErrors(FieldAttemptErrors),

		Fields: fields,
	}
	if shard, ok := fields[FieldShard].(int64); ok {
		rec.Shard = &shard
	}
	d.timestamp(FieldDeliveredAt, relayWritten)
	d.timestamp(FieldExpireAt, relayWritten)
	return rec, d.faults
}

// need says what it means that a field is not there.
type need int

const (
	required     need = iota // absent and null are faults
	optional                 // absent is fine, null is a fault
	relayWritten             // absent and null are fine
)

type decoder struct {
	fields map[string]any
	faults Faults
}

func (d *decoder) fault(field, problem string) {
	d.faults = append(d.faults, Fault{field, problem})
}

// get returns a value that is there.
func (d *decoder) get(field string, n need) (any, bool) {
	v, ok := d.fields[field]
	switch {
	case ok && v != nil:
		return v, true
	case !ok && n == required:
		d.fault(field, "is missing")
	case ok && n != relayWritten:
		d.fault(field, "is null")
	}
	return nil, false
}

// as returns field as a T, which faults call want.
func as[T any](d *decoder, field string, n need, want string) (t T, ok bool) {
	v, ok := d.get(field, n)
	if !ok {
		return t, false
	}
	if t, ok = v.(T); !ok {
		d.fault(field, mistyped(v, want))
	}
	return t, ok
}

func (d *decoder) text(field string, n need) string {
	s, _ := as[string](d, field, n, "a string")
	return s
}

// integer returns def for a field that is not there or not sound.
func (d *decoder) integer(field string, n need, def, least int64) int64 {
	i, ok := as[int64](d, field, n, "an integer")
	if !ok {
		return def
	}
	if i < least {
		d.fault(field, fmt.Sprintf("is %d, want %d or more", i, least))
		return def
	}
	return i
}

func (d *decoder) timestamp(field string, n need) time.Time {
	t, _ := as[time.Time](d, field, n, "a timestamp")
	return t
}

func (d *decoder) object(field string) map[string]any {
	m, _ := as[map[string]any](d, field, required, "a map")
	return m
}

// texts reads an array of strings that only the relay writes.
func (d *decoder) texts(field string) []string {
	items, _ := as[[]any](d, field, relayWritten, "an array")
	var out []string
	faults := listFaults{field: field}
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			faults.add(i, "", mistyped(item, "a string"))
			continue
		}
		out = append(out, s)
	}
	d.faults = append(d.faults, faults.all()...)
	return out
}

func (d *decoder) attemptErrors(field string) []AttemptError {
	items, _ := as[[]any](d, field, relayWritten, "an array")
	var out []AttemptError
	faults := listFaults{field: field}
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			faults.add(i, "", mistyped(item, "a map"))
			continue
		}
		e, inside := decodeAttemptError(m)
		for _, f := range inside {
			faults.add(i, "."+f.Field, f.Problem)
		}
		out = append(out, e)
	}
	d.faults = append(d.faults, faults.all()...)
	return out
}

// listFaults collects the faults of a list's elements.
type listFaults struct {
	field string
	named Faults
	more  int // beyond maxFieldFaults
}

// add notes a fault of element i; below is where in it, "" for all of it.
func (l *listFaults) add(i int, below, problem string) {
	if len(l.named) >= maxFieldFaults {
		l.more++
		return
	}
	l.named = append(l.named, Fault{string(jsonPath(l.field).index(i)) + below, problem})
}

func (l *listFaults) all() Faults {
	if l.more == 0 {
		return l.named
	}
	return append(l.named, moreFaults(l.field, l.more))
}

// mistyped says what v is in Firestore's words, and what it should be.
func mistyped(v any, want string) string { return "is " + typeName(v) + ", want " + want }

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64:
		return "an integer"
	case float64:
		return "a double"
	case string:
		return "a string"
	case []byte:
		return "bytes"
	case time.Time:
		return "a timestamp"
	case []any:
		return "an array"
	case map[string]any:
		return "a map"
	}
	return fmt.Sprintf("a %T", v)
}
