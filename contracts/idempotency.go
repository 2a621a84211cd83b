package contracts

import (
	"strconv"
	"strings"
)

// IdempotencyKey returns "{eventId}:{aggregateId}:{aggregateVersion}", the
// identity under which consumers recognise a repeat, of an event type whose route
// has no key of its own; see EventRoute.IdempotencyKey. It should also be the
// document ID of the record, so that appending twice is a no-op.
func IdempotencyKey(eventID, aggregateID string, aggregateVersion int64) string {
	return eventID + ":" + aggregateID + ":" + strconv.FormatInt(aggregateVersion, 10)
}

// DocumentID returns the document ID of a record with that idempotency key:
// the key itself, with "/", which Firestore forbids, and "%" escaped as in a
// URL.
func DocumentID(idempotencyKey string) string {
	return documentIDEscapes.Replace(idempotencyKey)
}

var documentIDEscapes = strings.NewReplacer("%", "%25", "/", "%2F")
