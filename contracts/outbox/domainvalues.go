package outbox

import (
	"bytes"
	"math"
	"time"
	"unicode/utf8"

	"outboxrelay/contracts"
)

// storable names the texts and timestamps of v that no commit takes. The contract does it
// for records; a domain event has none.
func (l *limits) storable(at path, v any) {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			l.fault(at, "is not valid UTF-8")
		}
	case time.Time:
		if v.UTC().Year() > 9999 {
			l.fault(at, "is a timestamp after the year 9999, which Firestore does not store")
		}
	case map[string]any:
		for name, item := range v {
			if !utf8.ValidString(name) {
				l.fault(at, "has a key that is not valid UTF-8")
				continue
			}
			l.storable(at.key(name), item)
		}
	case []any:
		for i, item := range v {
			l.storable(at.index(i), item)
		}
	}
}

// storableFaults names what no commit takes of the event and its jobs.
func (e *DomainEvent) storableFaults(payload map[string]any, jobs []Job) contracts.Faults {
	var l limits
	for name, v := range map[string]any{
		"orgId": e.OrgID, "eventId": e.ID, "entityType": e.EntityType, "entityId": e.EntityID, "revision": e.Revision,
		"actor": e.Actor, "visibility": e.Visibility, "timestamp": e.Timestamp, contracts.FieldPayload: payload,
	} {
		l.storable(path(name), v)
	}
	if !e.Timestamp.IsZero() && e.Timestamp.UTC().Year() < 1 {
		l.fault("timestamp", "is before the year 1, which Firestore does not store")
	}
	for i, j := range jobs {
		at := path("jobs").index(i)
		for name, v := range map[string]string{"jobType": j.Type, "recipientId": j.RecipientID, "channel": j.Channel, "templateId": j.TemplateID} {
			l.storable(at.key(name), v)
		}
	}
	return l.faults
}

// equal reports whether Firestore holds the two for the same, so that a repeat is one: 1.0
// of a producer in another language is 1, and what is not a number is itself.
func equal(a, b any) bool {
	switch a := a.(type) {
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Equal(b)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, item := range a {
			if other, ok := b[name]; !ok || !equal(item, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case float64:
		switch b := b.(type) {
		case float64:
			return a == b || math.IsNaN(a) && math.IsNaN(b)
		case int64:
			return a == float64(b)
		}
		return false
	case int64:
		if f, ok := b.(float64); ok {
			return f == float64(a)
		}
		return any(a) == b
	case nil, bool, string:
		return a == b
	}
	return false // a payload has none else
}
