package jobs

import (
	"outboxrelay/contracts/outbox"
	"outboxrelay/deploy/firestore/indexes"
)

// Indexes lists what the queries of the queue need beyond what Firestore makes by itself,
// and what their recipients' clients need: the messages of one, the newest first. What rises from
// document to document, or is large, has no index of its own. By status, type of job and organization
// people look by the automatic ones.
func Indexes() indexes.File {
	vocabulary := Vocabulary()
	out := vocabulary.Indexes()
	out.Indexes = append(out.Indexes, indexes.On(InAppMessages, "recipientId", "-createdAt"))
	for _, of := range []struct {
		collection string
		fields     []string
	}{
		{outbox.Jobs, []string{"createdAt", "updatedAt", "nextAttemptAt", "lockedAt", "sentAt", "lastError"}},
		{outbox.DomainEvents, []string{"timestamp", "payload"}},
		{InAppMessages, []string{"createdAt", "readAt", "title", "body"}},
	} {
		for _, field := range of.fields {
			out.FieldOverrides = append(out.FieldOverrides, indexes.Override{CollectionGroup: of.collection, FieldPath: field, Indexes: []indexes.Single{}})
		}
	}
	return out
}
