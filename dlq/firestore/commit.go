package firestore

import (
	"context"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/dlq"
)

// Commit applies all writes or none, in one call, and returns the server's
// commit time. It is dlq.Store's Commit, and relay.Store's.
func Commit(ctx context.Context, client *firestore.Client, writes []dlq.Write) (time.Time, error) {
	// WriteBatch is deprecated in favour of BulkWriter, which is neither atomic
	// nor fast (batches of 20), and of transactions, which need one call more.
	// One Commit call with all the writes is what this needs.
	b := client.Batch() //nolint:staticcheck // see above
	for _, w := range writes {
		ref := client.Collection(w.Collection).Doc(w.ID)
		switch w.Op {
		case dlq.OpCreate:
			b.Create(ref, values(w.Fields))
		case dlq.OpSet:
			b.Set(ref, values(w.Fields))
		case dlq.OpMerge:
			b.Set(ref, merged(w), firestore.MergeAll)
		case dlq.OpDelete:
			b.Delete(ref, preconditions(w)...)
		case dlq.OpUpdate:
			b.Update(ref, updates(w), preconditions(w)...)
		}
	}
	results, err := b.Commit(ctx)
	if err != nil {
		return time.Time{}, Failure("commit", err)
	}
	var at time.Time
	for _, r := range results { // a no-op keeps its old update time; the latest is the commit's
		if r.UpdateTime.After(at) {
			at = r.UpdateTime
		}
	}
	return at, nil
}

func updates(w dlq.Write) []firestore.Update {
	ups := make([]firestore.Update, 0, len(w.Fields)+len(w.Union))
	for name, v := range w.Fields {
		ups = append(ups, firestore.Update{FieldPath: firestore.FieldPath{name}, Value: orDelete(v)})
	}
	for name, members := range w.Union {
		ups = append(ups, firestore.Update{FieldPath: firestore.FieldPath{name}, Value: union(members)})
	}
	return ups
}

func merged(w dlq.Write) map[string]any {
	m := make(map[string]any, len(w.Fields)+len(w.Union))
	for name, v := range w.Fields {
		m[name] = orDelete(v)
	}
	for name, members := range w.Union {
		m[name] = union(members)
	}
	return m
}

// orDelete is the SDK's value for v in a write that changes fields.
func orDelete(v any) any {
	if v == nil {
		return firestore.Delete
	}
	return value(v)
}

func union(members []string) any {
	elems := make([]any, len(members))
	for i, m := range members {
		elems[i] = m
	}
	return firestore.ArrayUnion(elems...)
}

// values renders fields as the SDK's. The caller's map stays as it is.
func values(fields map[string]any) map[string]any {
	out := make(map[string]any, len(fields))
	for name, v := range fields {
		out[name] = value(v)
	}
	return out
}

// value is the SDK's value for v. Within lists Firestore knows no server time.
func value(v any) any {
	switch v := v.(type) {
	case dlq.ServerTime:
		return firestore.ServerTimestamp
	case map[string]any:
		if v == nil {
			return v
		}
		return values(v)
	}
	return v
}

func preconditions(w dlq.Write) []firestore.Precondition {
	if w.IfUnchangedSince.IsZero() {
		return nil // an update requires that the document exists, by itself
	}
	return []firestore.Precondition{firestore.LastUpdateTime(w.IfUnchangedSince)}
}
