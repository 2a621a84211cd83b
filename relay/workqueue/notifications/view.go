package notifications

import (
	"strings"

	"cloud.google.com/go/firestore"

	"outboxrelay/relay/workqueue/desk"
)

// View is how people look at events. One that failed may be tried again; its dead letter
// stays as history, until it fails again and has a later one.
func (h *Handler) View() desk.View {
	return desk.View{
		Vocabulary: h.Vocabulary(),
		Statuses: []desk.Status{
			{Name: StatusPending, Open: true, Refusal: "it is pending already", Hint: "an instance that runs the queue takes it when it is due"},
			{Name: StatusProcessing, Open: true},
			{Name: StatusEmitted, Refusal: "it is emitted already", Hint: "create another event for another notification"},
			{Name: StatusFailed, Requeues: true},
		},
		About:      []string{fieldEventType, fieldModule, fieldPriority, fieldEntityType, fieldEntityID, fieldDedupeKey, fieldCreatedBy, fieldQueueID},
		Collection: collectionOf,
		ClosedAt:   fieldProcessedAt,
		DeadLetter: deadLetterOf,
		Requeued:   []firestore.Update{{Path: fieldProcessedAt, Value: nil}},
	}
}

// collectionOf returns the path of a tenant's events, by its name.
func collectionOf(tenant string) (path string, ok bool) {
	client, condominium, ok := strings.Cut(tenant, "/")
	if !ok || checkUserID(client) != nil || checkUserID(condominium) != nil {
		return "", false
	}
	return Tenant{client, condominium}.Path() + "/" + CollectionEvents, true
}

// deadLetterOf returns the path of an event's dead letter.
func deadLetterOf(path string) string {
	parent, id := cutLast(path)
	condominium, _ := cutLast(parent)
	if condominium == "" {
		return CollectionDeadLetters + "/" + id
	}
	return condominium + "/" + CollectionDeadLetters + "/" + id
}
