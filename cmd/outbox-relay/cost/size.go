package cost

import (
	"fmt"
	"math/rand/v2"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/firestore/indexes"
)

// Sizes are the average bytes of a record of an outbox.
type Sizes struct {
	Document float64 // as Firestore bills it once it is delivered, its index entries apart
	Index    float64 // of its index entries
	Message  float64 // for one target, as Pub/Sub bills it
	Pending  float64 // of the document as its producer wrote it
	Mark     float64 // of what is written when it is delivered, and the document's name
}

// Firestore's published formula: what is added to a document's name, to a document,
// and to an index entry.
const (
	nameOverhead     = 16
	documentOverhead = 32
	entryOverhead    = 32
)

// What Pub/Sub adds to a message's data, attributes and ordering key.
const (
	publishTime = 20 // bytes of a timestamp, published
	messageID   = 17 // digits of an ID, as they are seen in practice
)

// samples is how many sample records of an outbox are looked at: enough for all of
// its event types.
const samples = 200

// SizesOf looks at samples of the outbox whose payloads are taken to have so many
// bytes, in JSON and in Firestore alike.
func SizesOf(c *contracts.Catalog, o *contracts.Outbox, file indexes.File, payload float64) (Sizes, error) {
	r := rand.New(rand.NewPCG(1, 1))
	now := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	var sum Sizes
	for n := range samples {
		rec := c.Sample(r, o, "aggregate-000001", int64(1+n), now)
		rec.Payload = nil
		bare, err := contracts.MarshalEnvelope(rec)
		if err != nil {
			return Sizes{}, fmt.Errorf("size of a record of %s: %w", o.Name, err)
		}
		targets := o.Route(rec.EventType).Targets
		fields := delivered(rec, o, targets)
		pending := rec.ProducerFields()
		delete(pending, contracts.FieldPayload)
		bytes := stringSize(contracts.FieldPayload) + payload
		sum.Pending += documentSize(o.Name, rec.ID, pending) + bytes
		sum.Mark += markSize(o, rec.ID, fields)
		sum.Document += documentSize(o.Name, rec.ID, fields) + bytes
		sum.Index += indexSize(o.Name, rec.ID, fields, file)
		message := contracts.NewMessage(rec, bare, rec.Lane, targets[0], "")
		sum.Message += messageSize(message) + payload
	}
	return Sizes{sum.Document / samples, sum.Index / samples, sum.Message / samples, sum.Pending / samples, sum.Mark / samples}, nil
}

// markSize is of the fields that say of a record that it is delivered.
func markSize(o *contracts.Outbox, id string, fields map[string]any) float64 {
	n := nameSize(o.Name, id)
	if o.OnDelivered == contracts.DeleteDelivered {
		return n
	}
	for _, field := range []string{contracts.FieldStatus, contracts.FieldDeliveredAt, contracts.FieldExpireAt, contracts.FieldDeliveredTargets} {
		n += stringSize(field) + valueSize(fields[field])
	}
	return n
}

// delivered are the fields of a record's document once it is delivered, its
// payload apart.
func delivered(rec *contracts.Record, o *contracts.Outbox, targets []string) map[string]any {
	fields := rec.ProducerFields()
	delete(fields, contracts.FieldPayload)
	fields[contracts.FieldStatus] = string(contracts.Delivered)
	fields[contracts.FieldDeliveredAt] = rec.CreatedAt
	fields[contracts.FieldExpireAt] = rec.CreatedAt.Add(o.Retention)
	names := make([]any, len(targets))
	for i, t := range targets {
		names[i] = t
	}
	fields[contracts.FieldDeliveredTargets] = names
	return fields
}

// stringSize is what Firestore counts for a text, and for a name.
func stringSize(s string) float64 { return float64(len(s)) + 1 }

func nameSize(collection, id string) float64 {
	return stringSize(collection) + stringSize(id) + nameOverhead
}

func documentSize(collection, id string, fields map[string]any) float64 {
	n := nameSize(collection, id) + documentOverhead
	for name, v := range fields {
		n += stringSize(name) + valueSize(v)
	}
	return n
}

func valueSize(v any) float64 {
	switch v := v.(type) {
	case string:
		return stringSize(v)
	case bool:
		return 1
	case []any:
		n := 0.0
		for _, e := range v {
			n += valueSize(e)
		}
		return n
	case nil:
		return 1
	}
	return 8 // integers and times; a record has nothing else outside of its payload
}

// indexSize adds up a document's index entries: those of each field's own
// indexes, one for each member of a list, and those of composite indexes.
// Top-level collections have no parent document to add.
func indexSize(collection, id string, fields map[string]any, file indexes.File) float64 {
	name, n := nameSize(collection, id), 0.0
	for field, v := range fields {
		ordered, contains := singles(file, collection, field)
		list, ok := v.([]any)
		if !ok {
			n += ordered * (name + stringSize(field) + valueSize(v) + entryOverhead)
			continue
		}
		for _, e := range list {
			n += contains * (name + stringSize(field) + valueSize(e) + entryOverhead)
		}
	}
	for _, index := range file.Indexes {
		if index.CollectionGroup != collection {
			continue
		}
		entry, complete := name+entryOverhead, true
		for _, f := range index.Fields {
			v, ok := fields[f.FieldPath]
			complete = complete && ok
			entry += valueSize(v)
		}
		if complete {
			n += entry
		}
	}
	return n
}

// singles is how many indexes of its own a field has: ordered ones, of values,
// and of the members of lists. Without an override Firestore makes an ascending
// and a descending one, and one of members.
func singles(file indexes.File, collection, field string) (ordered, contains float64) {
	for _, path := range []string{field, indexes.AnyField} {
		for _, o := range file.FieldOverrides {
			if o.CollectionGroup != collection || o.FieldPath != path {
				continue
			}
			for _, s := range o.Indexes {
				if s.ArrayConfig != "" {
					contains++
				} else {
					ordered++
				}
			}
			return ordered, contains
		}
	}
	return 2, 1
}

// messageSize is what Pub/Sub counts for a message.
func messageSize(m *contracts.Message) float64 {
	n := len(m.Data) + len(m.OrderingKey) + publishTime + messageID
	for name, value := range m.Attributes {
		n += len(name) + len(value)
	}
	return float64(n)
}
