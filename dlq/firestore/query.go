package firestore

import (
	"cloud.google.com/go/firestore"

	"outboxrelay/dlq"
)

// query renders q. The composite indexes that the queue's queries need are
// printed by `outbox-relay catalog indexes`.
func query(c *firestore.Client, q dlq.Query) firestore.Query {
	out := c.Collection(q.Collection).Query
	for _, w := range q.Where {
		value := w.Value
		if w.Field == dlq.FieldID {
			value = references(c.Collection(q.Collection), value)
		}
		out = out.Where(w.Field, w.Op, value)
	}
	for _, o := range q.OrderBy {
		dir := firestore.Asc
		if o.Desc {
			dir = firestore.Desc
		}
		out = out.OrderBy(o.Field, dir) // dlq.FieldID is the SDK's DocumentID
	}
	if len(q.StartAfter) > 0 {
		out = out.StartAfter(q.StartAfter...)
	}
	if len(q.Select) > 0 {
		out = out.Select(q.Select...)
	}
	if q.Limit > 0 {
		out = out.Limit(q.Limit)
	}
	return out
}

// references turns document IDs into what Firestore compares names with.
func references(c *firestore.CollectionRef, ids any) any {
	switch ids := ids.(type) {
	case string:
		return c.Doc(ids)
	case []string:
		refs := make([]*firestore.DocumentRef, len(ids))
		for n, id := range ids {
			refs[n] = c.Doc(id)
		}
		return refs
	}
	return ids
}

func document(snap *firestore.DocumentSnapshot) dlq.Doc {
	d := dlq.Doc{ID: snap.Ref.ID, ReadTime: snap.ReadTime}
	if snap.Exists() {
		d.Fields, d.CreateTime, d.UpdateTime = Plain(snap.Data()), snap.CreateTime, snap.UpdateTime
	}
	return d
}

func documents(snaps []*firestore.DocumentSnapshot) []dlq.Doc {
	docs := make([]dlq.Doc, len(snaps))
	for i, snap := range snaps {
		docs[i] = document(snap)
	}
	return docs
}
