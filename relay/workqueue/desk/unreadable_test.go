package desk_test

import (
	"testing"

	"cloud.google.com/go/firestore"

	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue"
	"outboxrelay/relay/workqueue/desk"
)

// TestUnreadableDocument: the engine closes a document that the SDK cannot read as dead. It is
// shown without what cannot be read, and can be tried again.
func TestUnreadableDocument(t *testing.T) {
	_, address := firestoretest.Start(t, localfirestore.Options{})
	client, err := firestore.NewClient(t.Context(), "p-odd", append(local.FirestoreOptions(address), firestoretest.Unreadable("odd"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	r := newRig(t, client)
	path := r.job("org-1", "dead", 1, map[string]any{"odd": 1, "lastErrorCode": workqueue.CodeUnreadable})
	shown, err := r.QueueItem(t.Context(), "jobs", path)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"orgId": "org-1", "status": "dead", "templateId": "matter-created", "lastErrorCode": workqueue.CodeUnreadable, "odd": nil} {
		if got := shown.Fields[name]; got != want {
			t.Errorf("its %s is shown as %v, want %v", name, got, want)
		}
	}
	if len(shown.History) == 0 || shown.About["eventId"] != "e-1" {
		t.Errorf("it is shown as %+v", shown)
	}
	done, err := r.Requeue(t.Context(), "jobs", path, desk.Requeue{Actor: operator, Reason: "it is mended", Seen: shown.UpdatedAt})
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.Items(t.Context(), "jobs", desk.Filter{Status: "pending"}, dlq.Page{})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != path || done.Item.Status != "pending" || len(r.audit(path)) != 1 {
		t.Errorf("it came to %+v, and these are pending: %v, %v", done, page.Items, err)
	}
}
