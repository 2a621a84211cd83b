package firestore

import (
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay"
	"outboxrelay/relay/firestore/readable"
)

func document(snap *firestore.DocumentSnapshot, readTime time.Time) relay.Doc {
	d := relay.Doc{
		ID: snap.Ref.ID, CreateTime: snap.CreateTime, UpdateTime: snap.UpdateTime, ReadTime: readTime,
		Content: snapshot{snap},
	}
	if v, err := snap.DataAtPath(firestore.FieldPath{contracts.FieldCreatedAt}); err == nil {
		d.CreatedAt, _ = v.(time.Time)
	}
	if v, err := snap.DataAtPath(firestore.FieldPath{relay.FieldCanary}); err == nil {
		d.Nonce, _ = v.(string)
	}
	return d
}

// snapshot is a document as the SDK has it.
type snapshot struct{ *firestore.DocumentSnapshot }

func (s snapshot) Fields() map[string]any { return dlqfirestore.Plain(s.Data()) }

func (s snapshot) Raw() map[string]any { return s.Data() }

func (s snapshot) Parts() map[string]any { return parts(s.DocumentSnapshot) }

func (snapshot) Record() *contracts.Record { return nil }

// parts decodes what can be decoded of a record's fields.
func parts(snap *firestore.DocumentSnapshot) map[string]any {
	fields, _ := readable.Parts(snap, contracts.RecordFields())
	return dlqfirestore.Plain(fields)
}
