package notifications

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/relay/firestore/readable"
)

// What a document and a commit may hold, in bytes as sizeOf counts them. Firestore takes
// 1 MiB and 10 MiB; its emulator takes commits of 4 MiB.
const (
	maxRecipientsBytes = 800 << 10
	maxCommitBytes     = 2 << 20
)

// maxRecipients keeps the queue document under the 40,000 index entries that a document may
// have, though the field were indexed.
const maxRecipients = 20_000

var (
	errTooMany = errors.New("the audience is too large for one event")
	errTaken   = errors.New("the queue document of the event's ID is another event's")
)

// checkRecipients refuses an audience that no queue document can hold.
func checkRecipients(ids []string) error {
	size := 0
	for _, id := range ids {
		size += len(id) + 1
	}
	if len(ids) > maxRecipients || size > maxRecipientsBytes {
		return fmt.Errorf("%w: %d people or more", errTooMany, len(ids))
	}
	return nil
}

// queueRef is the event's queue document. It has the event's ID, and so has each
// notification.
func (d *dispatch) queueRef() *firestore.DocumentRef {
	return d.client.Doc(d.event.tenant.Path() + "/" + CollectionQueue + "/" + d.event.id)
}

func (d *dispatch) bellRef(user string) *firestore.DocumentRef {
	return d.client.Doc(d.event.tenant.Path() + "/" + CollectionUsers + "/" + user + "/" + CollectionBells + "/" + d.event.id)
}

func (d *dispatch) queueFields(recipients []string, written int) map[string]any {
	e := d.event
	return map[string]any{
		fieldSourceEventID: e.id, fieldEventType: e.eventType, fieldModule: e.module, fieldPriority: e.priority,
		fieldChannels: []string{channelInApp}, fieldStatus: statusDispatched, fieldDedupeKey: e.dedupeKey,
		fieldRecipientsCount: len(recipients), fieldRecipients: recipients, fieldWritten: written,
		fieldCreatedAt: firestore.ServerTimestamp, fieldDispatchedAt: firestore.ServerTimestamp, fieldDispatchedBy: worker,
		fieldClientID: e.tenant.ClientID, fieldCondominiumID: e.tenant.CondominiumID,
	}
}

// standing is what a queue document says.
type standing struct {
	recipients []string
	written    int // so many of them have theirs
}

// standing reads the event's own queue document.
func (d *dispatch) standing(queue *firestore.DocumentSnapshot) (s standing, err error) {
	data, _ := readable.Parts(queue, []string{fieldRecipients, fieldWritten, fieldSourceEventID})
	list, ok := data[fieldRecipients].([]any)
	written, counted := data[fieldWritten].(int64)
	if data[fieldSourceEventID] != d.event.id || !ok || !counted {
		return s, errTaken
	}
	for _, v := range list {
		id, ok := v.(string)
		if !ok || checkUserID(id) != nil {
			return s, errTaken
		}
		s.recipients = append(s.recipients, id)
	}
	s.written = min(max(0, int(written)), len(s.recipients))
	return s, nil
}

// bellFields is the notification, the same for everybody.
func (d *dispatch) bellFields() map[string]any {
	e := d.event
	return map[string]any{
		fieldTitle: e.title, fieldBody: e.body, fieldModule: e.module, fieldEventType: e.eventType, fieldPriority: e.priority,
		fieldRead: false, fieldReadAt: nil, fieldEntityID: e.entityID, fieldEntityType: e.entityType, fieldMetadata: e.metadata,
		fieldSourceEventID: e.id, fieldSourceQueueID: e.id, fieldCreatedAt: firestore.ServerTimestamp, fieldCreatedBy: worker,
		fieldClientID: e.tenant.ClientID, fieldCondominiumID: e.tenant.CondominiumID,
	}
}

// chunk is how many notifications fit into one commit.
func (d *dispatch) chunk() int {
	const name = 200 // of a document, and what the protocol adds
	return max(1, min(d.settings.BatchSize, maxCommitBytes/(sizeOf(d.bellFields())+name)))
}

// markerRef is the document that all events of a tenant with that dedupeKey meet in.
func (d *dispatch) markerRef() *firestore.DocumentRef {
	sum := sha256.Sum256([]byte(d.event.dedupeKey))
	return d.client.Doc(d.event.tenant.Path() + "/" + CollectionDedupe + "/" + hex.EncodeToString(sum[:]))
}

// mark says in the marker that this event has the key, on the condition that the marker
// is as it was read.
func (d *dispatch) mark(w *writes, marker *firestore.DocumentSnapshot) {
	fields := map[string]any{
		fieldDedupeKey: d.event.dedupeKey, fieldSourceEventID: d.event.id, fieldQueueID: d.queueRef().ID,
		fieldCreatedAt: firestore.ServerTimestamp, fieldExpireAt: w.now.Add(d.settings.DedupeWindow + time.Hour),
	}
	if !marker.Exists() {
		w.batch.Create(marker.Ref, fields)
		return
	}
	updates := make([]firestore.Update, 0, len(fields))
	for name, value := range fields {
		updates = append(updates, firestore.Update{Path: name, Value: value})
	}
	w.batch.Update(marker.Ref, updates, firestore.LastUpdateTime(marker.UpdateTime))
}
