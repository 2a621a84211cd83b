package notifications

import "outboxrelay/deploy/firestore/indexes"

// Indexes lists what the queries of this package and of its queue need beyond what Firestore makes by
// itself, and what it would make in vain. People are found by their role, which has the
// index that every field has.
func Indexes() indexes.File {
	exempt := func(collection, field string) indexes.Override {
		return indexes.Override{CollectionGroup: collection, FieldPath: field, Indexes: []indexes.Single{}}
	}
	vocabulary := (&Handler{settings: Default()}).Vocabulary()
	out := vocabulary.Indexes()
	marker := exempt(CollectionDedupe, fieldExpireAt)
	marker.TTL = true
	out.Indexes = append(out.Indexes, indexes.On(CollectionQueue, fieldDedupeKey, fieldCreatedAt))
	out.FieldOverrides = append(
		out.FieldOverrides,
		marker,
		exempt(CollectionQueue, fieldRecipients),
		exempt(CollectionBells, fieldMetadata),
		exempt(CollectionDeadLetters, fieldPayloadSnapshot),
	)
	return out
}
