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
	}
	if v, err := snap.DataAtPath(firestore.FieldPath{contracts.FieldCreatedAt}); err == nil {
		d.CreatedAt, _ = v.(time.Time)
	}
	if v, err := snap.DataAtPath(firestore.FieldPath{relay.FieldCanary}); err == nil {
		d.Nonce, _ = v.(string)
	}
	return d
}
