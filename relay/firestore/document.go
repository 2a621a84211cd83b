package firestore

import (
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay"
)

func document(snap *firestore.DocumentSnapshot, readTime time.Time) relay.Doc {
	d := relay.Doc{
		ID: snap.Ref.ID, CreateTime: snap.CreateTime, UpdateTime: snap.UpdateTime, ReadTime: readTime,
		Fields: func() map[string]any { return dlqfirestore.Plain(snap.Data()) },
		Raw:    snap.Data,
		Parts:  func() map[string]any { return parts(snap) },
	}
	if v, err := snap.DataAtPath(firestore.FieldPath{contracts.FieldCreatedAt}); err == nil {
		d.CreatedAt, _ = v.(time.Time)
	}
	if v, err := snap.DataAtPath(firestore.FieldPath{relay.FieldCanary}); err == nil {
		d.Nonce, _ = v.(string)
	}
	return d
}

// parts decodes what can be decoded of a record's fields, for a document over
// which the SDK panics: it does over values that it does not know.
func parts(snap *firestore.DocumentSnapshot) map[string]any {
	fields := make(map[string]any)
	for _, name := range contracts.RecordFields() {
		if v, err := snap.DataAtPath(firestore.FieldPath{name}); err == nil {
			fields[name] = v
		}
	}
	return dlqfirestore.Plain(fields)
}
