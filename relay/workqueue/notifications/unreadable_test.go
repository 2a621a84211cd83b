package notifications

import (
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/deploy/local"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

// unreadable is a fixture whose client gets each document's field "odd" as what the SDK panics over.
func unreadable(t *testing.T) *fixture {
	t.Helper()
	f := setup(t, onEmbedded(t))
	db, err := firestore.NewClient(t.Context(), f.project, append(local.FirestoreOptions(f.cloud.address), firestoretest.Unreadable("odd"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f.handler.client = db
	f.db = db
	return f
}

// TestDocumentsBesideTheEventThatTheSDKCannotRead: what stands beside what a dispatch needs of a document is
// nothing to it.
func TestDocumentsBesideTheEventThatTheSDKCannotRead(t *testing.T) {
	f := unreadable(t)
	tenant := f.tenant("a", twoAdmins...)
	first := f.event(tenant, with("dedupeKey", "key"))
	f.mustDispatch(first, Emitted)
	docs, err := f.db.Collection(tenant.Path() + "/" + CollectionDedupe).Documents(t.Context()).GetAll()
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d markers, %v", len(docs), err)
	}
	hour := f.db.Doc(tenant.Path() + "/" + CollectionStats + "/" + time.Now().UTC().Format(hourID))
	for _, ref := range []*firestore.DocumentRef{docs[0].Ref, hour} {
		if _, err := ref.Set(t.Context(), map[string]any{"odd": 1}, firestore.MergeAll); err != nil {
			t.Fatal(err)
		}
	}
	twin := f.event(tenant, with("dedupeKey", "key"))
	f.mustDispatch(twin, Deduped)
	if got := f.fields(relative(twin)); got["queueId"] != first.ID {
		t.Errorf("the twin is %v", got)
	}
	hours, err := Hours(t.Context(), f.db, tenant, time.Now().Add(-2*time.Hour), time.Now().Add(2*time.Hour))
	if err != nil || len(hours) == 0 || hours[0].ProcessedEvents == 0 {
		t.Errorf("figures %+v, %v", hours, err)
	}
}

// TestQueueDocumentThatTheSDKCannotRead: one in the event's place is gone on from as far as it says whom the event is for.
func TestQueueDocumentThatTheSDKCannotRead(t *testing.T) {
	f := unreadable(t)
	tenant := f.tenant("a", twoAdmins...)
	event := f.event(tenant)
	queue := f.db.Doc(tenant.Path() + "/" + CollectionQueue + "/" + event.ID)
	if _, err := queue.Set(t.Context(), map[string]any{
		fieldSourceEventID: event.ID, fieldRecipients: []string{"ana"}, fieldWritten: 0, fieldRecipientsCount: 1, "odd": 1,
	}); err != nil {
		t.Fatal(err)
	}
	f.mustDispatch(event, Emitted)
}
