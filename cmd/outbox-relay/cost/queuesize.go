package cost

import (
	"maps"
	"strings"
	"time"

	"outboxrelay/contracts/outbox"
	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
)

// bytesOfText is a title and a body, an event's payload or its metadata: assumed.
const bytesOfText = 200

// A document of the work queues as it stays, after those of the contracts' examples.
type queueDocument struct {
	collection, path string // the path as a name has it
	fields           map[string]any
}

// idOf is an ID of Firestore's own making, or of a person.
var idOf = strings.Repeat("x", 20)

// size is of the document with its index entries.
func (d queueDocument) size(file indexes.File) float64 {
	id := strings.TrimPrefix(d.path, d.collection+"/")
	return documentSize(d.collection, id, d.fields) + indexSize(d.collection, id, d.fields, file)
}

func fieldsOf(texts string, times int, more map[string]any) map[string]any {
	out := map[string]any{}
	for name := range strings.FieldsSeq(texts) {
		out[name] = idOf
	}
	for i, name := range []string{"createdAt", "updatedAt", "nextAttemptAt", "sentAt", "processedAt", "dispatchedAt"} {
		if i < times {
			out[name] = time.Time{}
		}
	}
	maps.Copy(out, more)
	return out
}

// storedOfJob are the bytes that a job leaves behind, with its share of its domain event.
func (q Queues) storedOfJob(file indexes.File) float64 {
	text := strings.Repeat("x", bytesOfText)
	key := strings.Repeat("x", 120)
	n := queueDocument{outbox.Jobs, outbox.Jobs + "/" + key, fieldsOf(
		"orgId eventId jobType status lockOwner eventType entityType entityId recipientId channel templateId", 4,
		map[string]any{"id": key, "attempts": 0, "maxAttempts": 0, "lockedAt": nil, "lastError": nil, "lastErrorCode": nil})}.size(file)
	n += queueDocument{outbox.DomainEvents, outbox.DomainEvents + "/" + idOf, fieldsOf(
		"eventId orgId eventType entityType entityId actor visibility", 0, map[string]any{"timestamp": time.Time{}, "payload": text})}.size(file) / q.JobsOfEvent
	if q.Channel == ChannelInApp {
		n += queueDocument{jobs.InAppMessages, jobs.InAppMessages + "/" + key, fieldsOf(
			"orgId recipientId eventId eventType entityType entityId templateId", 1,
			map[string]any{"title": idOf, "body": text, "read": false, "readAt": nil})}.size(file)
	}
	return n
}

// storedOfEvent are the bytes that an event of notifications leaves behind, its marker apart,
// which expires.
func (q Queues) storedOfEvent(file indexes.File) float64 {
	text := strings.Repeat("x", bytesOfText)
	condominium := notifications.Tenant{ClientID: idOf, CondominiumID: idOf}.Path() + "/"
	n := queueDocument{notifications.CollectionEvents, condominium + notifications.CollectionEvents + "/" + idOf, fieldsOf(
		"eventType module priority title dedupeKey scope entityId entityType createdBy createdByName status clientId condominiumId workerId queueId", 1,
		map[string]any{"body": text, "metadata": text, "channels": []any{idOf}, "attempts": 0, "lockUntil": nil, "nextRetryAt": nil, "processedAt": time.Time{}, "lastError": nil, "lastErrorCode": nil})}.size(file)
	people := make([]any, int(q.Recipients))
	for i := range people {
		people[i] = idOf
	}
	n += queueDocument{notifications.CollectionQueue, condominium + notifications.CollectionQueue + "/" + idOf, fieldsOf(
		"sourceEventId eventType module priority status dedupeKey dispatchedBy clientId condominiumId", 1,
		map[string]any{"channels": []any{idOf}, "recipients": people, "recipientsCount": 0, "notificationsWritten": 0, "dispatchedAt": time.Time{}})}.size(file)
	return n + q.Recipients*queueDocument{notifications.CollectionBells, condominium + notifications.CollectionUsers + "/" + idOf + "/" + notifications.CollectionBells + "/" + idOf, fieldsOf(
		"eventType module priority title entityId entityType sourceEventId sourceQueueId createdBy clientId condominiumId", 1,
		map[string]any{"body": text, "metadata": text, "read": false, "readAt": nil})}.size(file)
}
