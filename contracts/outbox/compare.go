package outbox

import (
	"bytes"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
)

// Differs returns the fields in which a record is not the same event as the document
// stored that stands under its key; none for a repeat.
func Differs(stored map[string]any, r *contracts.Record) []string {
	other, faults := contracts.DecodeRecord(r.Outbox, r.ID, stored)
	return differsFrom(other, faults, r)
}

func differsFrom(stored *contracts.Record, faults contracts.Faults, r *contracts.Record) []string {
	different := differs(stored, r)
	if len(different) == 0 && len(faults) > 0 {
		different = []string{faults[0].Field}
	}
	return different
}

// differs returns the fields in which two records of one key are not the same event;
// none for a repeat. Trace, times, event ID and what the catalog says do not count.
func differs(a, b *contracts.Record) (fields []string) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{contracts.FieldEventType, a.EventType == b.EventType},
		{contracts.FieldEventVersion, a.EventVersion == b.EventVersion},
		{contracts.FieldAggregateType, a.AggregateType == b.AggregateType},
		{contracts.FieldAggregateID, a.AggregateID == b.AggregateID},
		{contracts.FieldPayload, samePayload(a, b)},
	} {
		if !f.same {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// samePayload compares payloads as consumers get them, so that 1.0 of a producer in
// another language is 1, and -0.0 is 0, which JavaScript writes for it.
func samePayload(a, b *contracts.Record) bool {
	left, errLeft := contracts.MarshalEnvelope(&contracts.Record{Payload: unsigned(a.Payload)})
	right, errRight := contracts.MarshalEnvelope(&contracts.Record{Payload: unsigned(b.Payload)})
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

// unsigned returns a payload in which no zero has a sign.
func unsigned(payload map[string]any) map[string]any {
	if payload == nil {
		return nil
	}
	out := make(map[string]any, len(payload))
	for name, v := range payload {
		out[name] = unsignedValue(v)
	}
	return out
}

func unsignedValue(v any) any {
	switch v := v.(type) {
	case float64:
		if v == 0 { // as -0 is
			return 0.0
		}
	case map[string]any:
		return unsigned(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = unsignedValue(item)
		}
		return out
	}
	return v
}

// outcome tells what a document that was read means for the record that is to be
// created there.
func outcome(r *Record, found *firestore.DocumentSnapshot) (Result, []string) {
	result := Result{Document: r.Document, EventID: r.EventID, IdempotencyKey: r.IdempotencyKey, TraceID: r.TraceID}
	if found == nil || !found.Exists() {
		return result, nil
	}
	stored, faults := contracts.DecodeRecord(r.record.Outbox, r.record.ID, found.Data())
	result.Repeated = true
	result.EventID, result.TraceID = stored.EventID, stored.TraceID
	return result, differsFrom(stored, faults, r.record)
}
