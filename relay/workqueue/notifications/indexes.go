package notifications

import "outboxrelay/deploy/firestore/indexes"

// Indexes lists what the queries of this package and of its queue need beyond what Firestore makes by
// itself, what it would make in vain, and those of events and people that the contract names:
// the queue itself does without, as it asks for what lacks a field, too.
func Indexes() indexes.File {
	exempt := func(collection, field string) indexes.Override {
		return indexes.Override{CollectionGroup: collection, FieldPath: field, Indexes: []indexes.Single{}}
	}
	vocabulary := (&Handler{settings: Default()}).Vocabulary()
	out := vocabulary.Indexes()
	marker := exempt(CollectionDedupe, fieldExpireAt)
	marker.TTL = true
	out.Indexes = append(
		out.Indexes,
		indexes.On(CollectionQueue, fieldDedupeKey, fieldCreatedAt),
		indexes.On(CollectionEvents, fieldStatus, fieldNextRetryAt, fieldLockUntil, fieldCreatedAt),
		indexes.On(CollectionUsers, fieldRole, fieldActive),
	)
	out.FieldOverrides = append(
		out.FieldOverrides,
		marker,
		exempt(CollectionQueue, fieldRecipients),
		exempt(CollectionBells, fieldMetadata),
		exempt(CollectionDeadLetters, fieldPayloadSnapshot),
	)
	return out
}
