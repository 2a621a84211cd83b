package notifications

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"

	"outboxrelay/relay/firestore/readable"
)

// dedupes reports whether the event is held against others. One without a key has no
// twin.
func (d *dispatch) dedupes() bool { return d.event.dedupeKey != "" && d.settings.DedupeWindow > 0 }

// twin returns the ID of a queue document that has the event's dedupeKey and is younger
// than the window; "" when there is none.
//
// The marker decides between events of the same moment: the commit that makes a queue
// document writes it, too, on the condition that it is as it was read. So one of two
// comes first, and the other reads again and sees it. What was written without a marker, as by
// a front end that dispatches itself, is found by a query.
func (d *dispatch) twin(ctx context.Context, marker *firestore.DocumentSnapshot, now time.Time) (queueID string, err error) {
	since := now.Add(-d.settings.DedupeWindow)
	if marker.Exists() {
		data, _ := readable.Parts(marker, []string{fieldCreatedAt, fieldQueueID, fieldSourceEventID})
		at, _ := data[fieldCreatedAt].(time.Time)
		id, ok := data[fieldQueueID].(string)
		if ok && data[fieldSourceEventID] != d.event.id && !at.Before(since) {
			return id, nil
		}
	}
	if d.alone {
		return "", nil
	}
	queueID, err = d.unmarked(ctx, since)
	d.alone = err == nil && queueID == ""
	return queueID, err
}

// unmarked looks for another event's queue document with the same key.
func (d *dispatch) unmarked(ctx context.Context, since time.Time) (queueID string, err error) {
	query := d.queueRef().Parent.Where(fieldDedupeKey, "==", d.event.dedupeKey).Where(fieldCreatedAt, ">=", since)
	found := query.Select(fieldSourceEventID, fieldClientID, fieldCondominiumID).Documents(ctx)
	defer found.Stop()
	for {
		queue, err := found.Next()
		if errors.Is(err, iterator.Done) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("look for the same dedupeKey: %w", err)
		}
		data, _ := readable.Parts(queue, []string{fieldSourceEventID, fieldClientID, fieldCondominiumID})
		if data[fieldSourceEventID] != d.event.id && data[fieldClientID] == d.event.tenant.ClientID && data[fieldCondominiumID] == d.event.tenant.CondominiumID {
			return queue.Ref.ID, nil
		}
	}
}
