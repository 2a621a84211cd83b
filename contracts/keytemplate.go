package contracts

import (
	"encoding/json"
	"iter"
	"strconv"
	"strings"
)

// KeyTemplate says how a field of a record is made of other fields: text in
// which {eventId}, {eventType}, {eventVersion}, {aggregateId} and
// {aggregateVersion} stand for fields of the record, and {payload.a.b} for a
// value within its payload, as its envelope has it: text as it is, an integer
// in digits, a boolean as true or false.
type KeyTemplate string

// DefaultKey is the template of the idempotencyKey of an event type that has
// none of its own; see IdempotencyKey.
const DefaultKey KeyTemplate = "{eventId}:{aggregateId}:{aggregateVersion}"

// payloadPrefix starts a placeholder for a value of the payload.
const payloadPrefix = FieldPayload + "."

// keyFields are the fields that a template may name: those that every sound
// record has and that tell what it is.
var keyFields = []string{FieldEventID, FieldEventType, FieldEventVersion, FieldAggregateID, FieldAggregateVersion}

// IdempotencyKey returns the key that rec must have along this route. The error,
// of type Faults, names the values that rec lacks for it.
func (e *EventRoute) IdempotencyKey(rec *Record) (string, error) {
	if e.Key == "" {
		return IdempotencyKey(rec.EventID, rec.AggregateID, rec.AggregateVersion), nil
	}
	return e.Key.of(rec)
}

// KeyNamesEvent reports whether the key is made of the event ID. Otherwise it says by itself which event it is.
func (e *EventRoute) KeyNamesEvent() bool { return e.Key == "" || e.Key.names(FieldEventID) }

// AggregateOf returns the aggregateId that rec must have along this route, "" when
// the catalog leaves it to the producer. The error, of type Faults, names the
// values that rec lacks for it.
func (e *EventRoute) AggregateOf(rec *Record) (string, error) {
	if e.Aggregate == "" {
		return "", nil
	}
	return e.Aggregate.of(rec)
}

// of fills in the values of rec.
func (t KeyTemplate) of(rec *Record) (string, error) {
	var payload any = rec.Payload
	if rec.PayloadJSON != "" && t.readsPayload() {
		var err error
		if payload, err = readPayload(rec.PayloadJSON); err != nil {
			return "", Faults{{FieldPayload, "cannot be read: " + err.Error()}}
		}
	}
	text, faults := t.fill(rec, payload)
	return text, faults.Err()
}

// fill is of, for a payload that was read.
func (t KeyTemplate) fill(rec *Record, payload any) (string, Faults) {
	var b strings.Builder
	var faults Faults
	for part, placeholder := range t.parts() {
		if !placeholder {
			b.WriteString(part)
			continue
		}
		path, inPayload := strings.CutPrefix(part, payloadPrefix)
		if !inPayload {
			b.WriteString(keyField(rec, part))
			continue
		}
		text, fault := payloadText(payload, path)
		if fault != "" {
			faults = append(faults, Fault{part, fault})
		}
		b.WriteString(text)
	}
	return b.String(), faults
}

// readsPayload reports whether a placeholder stands for a value of the payload.
func (t KeyTemplate) readsPayload() bool { return strings.Contains(string(t), "{"+payloadPrefix) }

// names reports whether {field} is in t.
func (t KeyTemplate) names(field string) bool { return strings.Contains(string(t), "{"+field+"}") }

// parts yields the text between placeholders, and what is inside of each, which
// it says is one. A brace without its other is text.
func (t KeyTemplate) parts() iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		rest := string(t)
		for rest != "" {
			start := strings.IndexByte(rest, '{')
			length := -1
			if start >= 0 {
				length = strings.IndexByte(rest[start:], '}')
			}
			if length < 0 {
				yield(rest, false)
				return
			}
			if start > 0 && !yield(rest[:start], false) {
				return
			}
			if !yield(rest[start+1:start+length], true) {
				return
			}
			rest = rest[start+length+1:]
		}
	}
}

func keyField(rec *Record, field string) string {
	switch field {
	case FieldEventID:
		return rec.EventID
	case FieldEventType:
		return rec.EventType
	case FieldEventVersion:
		return strconv.FormatInt(rec.EventVersion, 10)
	case FieldAggregateID:
		return rec.AggregateID
	case FieldAggregateVersion:
		return strconv.FormatInt(rec.AggregateVersion, 10)
	}
	return ""
}

// payloadText returns the value at a path of the payload as a key has it, or
// what is wrong with it.
func payloadText(payload any, path string) (text, fault string) {
	v := payload
	for name := range strings.SplitSeq(path, ".") {
		fields, ok := v.(map[string]any)
		if !ok {
			return "", "is missing"
		}
		if v, ok = fields[name]; !ok {
			return "", "is missing"
		}
	}
	switch v := jsonForm(v).(type) {
	case string:
		return v, ""
	case bool:
		return strconv.FormatBool(v), ""
	case int64:
		return strconv.FormatInt(v, 10), ""
	case float64:
		return string(appendFloat(nil, v)), ""
	case json.Number:
		return v.String(), ""
	}
	return "", "is neither text nor an integer nor a boolean, so that no key can be made of it"
}
