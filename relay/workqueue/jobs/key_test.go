package jobs

import (
	"maps"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts/outbox"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

// A producer that writes jobs itself, with the fields that every job has, names recipient,
// channel and template in the key alone.
func TestAKeyTellsWhatTheFieldsDoNot(t *testing.T)         { keyTells(onEmbedded(t)) }
func TestAKeyTellsWhatTheFieldsDoNotOnGoogle(t *testing.T) { keyTells(onGoogle(t)) }

func keyTells(r *rig) {
	r.emit("m-1", "in_app", "bob", "matter-created") // for its event
	events, err := r.client.Collection(outbox.DomainEvents).Documents(r.t.Context()).GetAll()
	if err != nil || len(events) != 1 {
		r.t.Fatalf("%d events, %v", len(events), err)
	}
	add := func(key string, more map[string]any) *firestore.DocumentRef {
		job := map[string]any{
			"id": key, "orgId": "org-1", "eventId": events[0].Ref.ID, "jobType": "notification_dispatch", "status": "pending", "attempts": 0, "maxAttempts": 5,
			"nextAttemptAt": time.Now().Add(-time.Second), "lockedAt": nil, "lockOwner": nil, "lastError": nil, "createdAt": firestore.ServerTimestamp, "updatedAt": firestore.ServerTimestamp,
		}
		maps.Copy(job, more)
		ref := r.client.Collection(outbox.Jobs).Doc(key)
		if _, err := ref.Set(r.t.Context(), job); err != nil {
			r.t.Fatal(err)
		}
		return ref
	}
	const key = "notification_dispatch:org-1:matter.created:matter:m-1:"
	email := add(key+"ann@example.com:email:matter-created", nil)
	field := add(key+"ann@example.com:email:other", map[string]any{"templateId": "matter-created", "recipientId": "eve@example.com"})
	none := add("org-1-m-1-ann", nil)
	r.run()
	r.untilStatus(email, "sent")
	r.untilStatus(field, "sent")
	if got := r.untilStatus(none, "dead"); got["lastErrorCode"] != codeChannel || !strings.Contains(got["lastError"].(string), "its ID is no key that does") {
		r.t.Errorf("job without a channel is %v", got)
	}
	mails := strings.Join(r.post.messages(), "\n")
	for _, recipient := range []string{"ann", "eve"} {
		if !strings.Contains(mails, "created it, "+recipient+"@example.com.") {
			r.t.Errorf("mails are %q", mails)
		}
	}
}

// An event over which the SDK panics cannot be sent by any attempt; a recipient needs no
// more than an address.
func TestUnreadableEventOrRecipient(t *testing.T) {
	r := onEmbedded(t, firestoretest.Unreadable("odd"))
	if _, err := r.client.Collection("users").Doc("ann").Set(t.Context(), map[string]any{"email": "ann@example.com", "odd": 1}); err != nil {
		t.Fatal(err)
	}
	sound := r.emit("m-1", "email", "ann", "matter-created")
	broken := r.emit("m-2", "email", "ann", "matter-created")
	event := r.get(broken)["eventId"].(string)
	if _, err := r.client.Collection(outbox.DomainEvents).Doc(event).Update(t.Context(), []firestore.Update{{Path: "odd", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	r.run()
	r.untilStatus(sound, "sent")
	if got := r.untilStatus(broken, "dead"); got["lastErrorCode"] != codeNoEvent || !strings.Contains(got["lastError"].(string), "the SDK cannot read the document") {
		t.Errorf("job is %v", got)
	}
}
