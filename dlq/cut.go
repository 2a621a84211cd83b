package dlq

import (
	"maps"

	"outboxrelay/contracts"
)

// CutAbove is the size, as SizeOf estimates it, above which a dead letter goes without
// its copy of the payload: the copy must fit into Firestore's 1 MiB together with the
// dead letter's own fields, and with what is decided about it.
const CutAbove = 900 << 10

// RecordFieldEnvelope is the field of a dead letter's record that holds the body of the message
// as it arrived, where a consumer had the event.
const RecordFieldEnvelope = "envelope"

// Whole is the record's copy with its payload, which a copy that lacks one takes from the
// body of its message. ok is false where that has none either.
func (i *Item) Whole() (record map[string]any, ok bool) {
	if !i.RecordTrimmed && len(i.Record) > 0 {
		return i.Record, true
	}
	text, _ := i.Record[RecordFieldEnvelope].(string)
	body, err := contracts.Fields([]byte(text))
	if err != nil || body[contracts.FieldPayload] == nil {
		return nil, false
	}
	record = maps.Clone(i.Record)
	record[contracts.FieldPayload] = body[contracts.FieldPayload]
	return record, true
}

// WithoutPayload is a record's copy without its payload.
func WithoutPayload(record map[string]any) map[string]any {
	out := make(map[string]any, len(record))
	for k, v := range record {
		if k != contracts.FieldPayload {
			out[k] = v
		}
	}
	return out
}

// Bare is the item with what a record is made of as its copy, without the payload, and
// with every text cut. A value that is larger than any sound one goes too.
func (i Item) Bare() Item {
	record := make(map[string]any)
	for _, name := range contracts.RecordFields() {
		if v, ok := i.Record[name]; ok && name != contracts.FieldPayload && SizeOf(v) <= bareValue {
			record[name] = v
		}
	}
	i.Record, i.RecordTrimmed = record, true
	for _, text := range []*string{&i.EventID, &i.EventType, &i.TraceID, &i.IdempotencyKey, &i.AggregateID} {
		*text = contracts.Clip(*text)
	}
	return i
}

// bareValue is the most that a value takes in a bare copy: all of them together
// are far under Firestore's 1 MiB.
const bareValue = 16 << 10

// SizeOf estimates the bytes that a value takes in a commit.
func SizeOf(v any) int {
	n := 0
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case []byte:
		return len(v) + 2
	case map[string]any:
		for k, e := range v {
			n += len(k) + 4 + SizeOf(e)
		}
		return n
	case []any:
		for _, e := range v {
			n += 2 + SizeOf(e)
		}
		return n
	}
	return 12
}
