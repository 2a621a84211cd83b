package notifications

import (
	"maps"

	"cloud.google.com/go/firestore"

	"outboxrelay/relay/workqueue"
)

// A dead letter holds the event one level down and beside other fields, where Firestore
// allows 20 levels and 1 MiB.
const (
	maxSnapshotBytes = 900 << 10
	maxSnapshotDepth = 19 // of the event's fields
	maxMessageBytes  = 1000
)

// dead implements workqueue.Vocabulary.Dead: the event is failed, with a dead letter of its
// own ID beside it.
func (h *Handler) dead(c *workqueue.Claim, f workqueue.Failure) workqueue.Outcome {
	switch f.Code {
	case workqueue.CodeAbandoned, workqueue.CodeExhausted, workqueue.CodeUnreadable, workqueue.CodeUnwritable: // no attempt of this run has its line
		path := relative(c.Ref)
		e, _ := h.read(path, c.Data)
		h.tell(path, e, f.Attempts, progress{result: Failed}, 0, f.Code, f.Err)
	}
	return workqueue.Outcome{
		Word: string(Failed), Status: StatusFailed,
		Updates: []firestore.Update{
			{Path: fieldProcessedAt, Value: firestore.ServerTimestamp},
			{Path: fieldNextRetryAt, Value: nil},
		},
		Within: func(batch *workqueue.Batch) { h.bury(batch, c, f) },
	}
}

// bury writes an event's dead letter and counts it. An event that somebody had dispatched
// again, and that failed again, has the later one.
func (h *Handler) bury(batch *workqueue.Batch, c *workqueue.Claim, f workqueue.Failure) {
	letter := c.Ref.Parent.Parent // the condominium
	collection := h.client.Collection(CollectionDeadLetters)
	if letter != nil {
		collection = letter.Collection(CollectionDeadLetters)
	}
	snapshot, truncated := snapshotOf(c.Data)
	dedupeKey, _ := c.Data[fieldDedupeKey].(string)
	fields := map[string]any{
		fieldSourceEventID: c.Ref.ID, fieldDedupeKey: workqueue.Clip(dedupeKey, maxKeyBytes), fieldPayloadSnapshot: snapshot,
		fieldErrorCode: f.Code, fieldErrorMessage: workqueue.Clip(f.Err.Error(), maxMessageBytes), fieldAttempts: f.Attempts,
		fieldCreatedAt: firestore.ServerTimestamp,
	}
	if truncated {
		fields[fieldPayloadTruncated] = true
	}
	batch.Set(collection.Doc(c.Ref.ID), fields)
	if tenant, err := tenantIn(relative(c.Ref)); err == nil { // or else it is in nobody's figures
		addStats(batch, h.client, tenant, c.ClaimedAt, Stats{FailedEvents: 1})
	}
}

// snapshotOf is the event as it was found, as far as a dead letter holds it: what is too
// large or too deep is in the event alone, which stays where it is.
func snapshotOf(fields map[string]any) (snapshot map[string]any, truncated bool) {
	snapshot = maps.Clone(fields)
	for _, name := range []string{fieldMetadata, fieldAudience, fieldBody, fieldTitle, fieldDedupeKey} {
		if fits(snapshot) {
			return snapshot, truncated
		}
		delete(snapshot, name)
		truncated = true
	}
	if fits(snapshot) {
		return snapshot, truncated
	}
	return map[string]any{}, true
}

func fits(fields map[string]any) bool {
	return sizeOf(fields) <= maxSnapshotBytes && depthOf(fields) <= maxSnapshotDepth
}
