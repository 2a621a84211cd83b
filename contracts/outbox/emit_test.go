package outbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts/outbox"
)

func matterCreated() outbox.DomainEvent {
	return outbox.DomainEvent{Type: "matter.created", OrgID: "org-1", EntityType: "matter", EntityID: "m-1", Payload: map[string]any{"name": "Smith v. Jones", "size": 3}}
}

var toAnn = outbox.Job{RecipientID: "ann", Channel: "in_app", TemplateID: "matter-created"}

// emit emits in a transaction with a business write.
func (s *slice) emit(e outbox.DomainEvent, jobs ...outbox.Job) (out *outbox.Emitted, err error) {
	ctx := context.Background()
	err = s.client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		var err error
		if out, err = outbox.Emit(ctx, s.client, tx, e, jobs...); err != nil {
			return err
		}
		return tx.Set(s.client.Doc("business/one"), map[string]any{"n": firestore.Increment(1)}, firestore.MergeAll)
	})
	return out, err
}

// Unit: idempotency key generation.
func TestIdempotencyKeyGeneration(t *testing.T) {
	e := matterCreated()
	if got, want := outbox.JobKey(&e, &toAnn), "notification_dispatch:org-1:matter.created:matter:m-1:ann:in_app:matter-created"; got != want {
		t.Errorf("key %q, want %q", got, want)
	}
	// Parts that hold the separators keep apart.
	keys := map[string]bool{}
	for _, parts := range [][2]string{{"a:b", "c"}, {"a", "b:c"}, {"a/b", "c"}, {"a", "b/c"}, {"a%3Ab", "c"}, {"a#b", "c"}} {
		e, j := matterCreated(), toAnn
		e.EntityID, j.RecipientID = parts[0], parts[1]
		key := outbox.JobKey(&e, &j)
		if keys[key] || strings.Contains(key, "/") || strings.Count(key, ":") != 7 {
			t.Errorf("key of %q is %q", parts, key)
		}
		keys[key] = true
		got := outbox.JobFieldsOfKey(key)
		if got["entityId"] != parts[0] || got["recipientId"] != parts[1] || got["channel"] != "in_app" || got["templateId"] != "matter-created" || got["orgId"] != "org-1" {
			t.Errorf("key %q tells of %q", key, got)
		}
	}
	e.EntityID, e.Revision = "a", "b"
	if got := outbox.JobFieldsOfKey(outbox.JobKey(&e, &toAnn)); got["entityId"] != "a" {
		t.Errorf("a key with a revision tells of %q", got)
	}
	for _, none := range []string{"", "odd", "a:b:c:d:e:f:g", "a:b:c:d:e:f:g:h:i"} {
		if got := outbox.JobFieldsOfKey(none); got != nil {
			t.Errorf("%q tells of %q", none, got)
		}
	}
	if key := outbox.JobKey(&e, &toAnn); !strings.Contains(key, ":a#b:") {
		t.Errorf("key with a revision is %q", key)
	}
}

func TestCreatingAMatterEmitsADomainEvent(t *testing.T)         { emits(t, onEmbedded(t)) }
func TestCreatingAMatterEmitsADomainEventOnGoogle(t *testing.T) { emits(t, onGoogle(t)) }

func emits(t *testing.T, s *slice) {
	out, err := s.emit(matterCreated(), toAnn, outbox.Job{RecipientID: "a/b:c", Channel: "email", TemplateID: "t"})
	if err != nil {
		t.Fatal(err)
	}
	event, err := s.client.Collection(outbox.DomainEvents).Doc(out.EventID).Get(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"eventId", "orgId", "eventType", "entityType", "entityId", "actor", "timestamp", "payload", "visibility"} {
		if event.Data()[field] == nil {
			t.Errorf("the event lacks %s", field)
		}
	}
	for _, j := range out.Jobs {
		job, err := s.client.Collection(outbox.Jobs).Doc(j.Key).Get(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		d := job.Data()
		if d["id"] != j.Key || d["status"] != "pending" || d["attempts"] != int64(0) || d["maxAttempts"] != int64(5) || d["nextAttemptAt"] != d["createdAt"] || d["eventId"] != out.EventID {
			t.Errorf("job is %v", d)
		}
	}
}

func TestCreatingAnOutboxRecordIsIdempotent(t *testing.T)         { emitsOnce(t, onEmbedded(t)) }
func TestCreatingAnOutboxRecordIsIdempotentOnGoogle(t *testing.T) { emitsOnce(t, onGoogle(t)) }

// Integration: simulate function retry, confirm no duplicate outbox records.
func emitsOnce(t *testing.T, s *slice) {
	for try := range 3 {
		out, err := s.emit(matterCreated(), toAnn, toAnn)
		if err != nil {
			t.Fatal(err)
		}
		if again := try > 0; out.Repeated != again || out.Jobs[0].Repeated != again || !out.Jobs[1].Repeated {
			t.Errorf("try %d: %+v", try, out)
		}
	}
	if events, jobs := s.records(outbox.DomainEvents), s.records(outbox.Jobs); events != 1 || jobs != 1 {
		t.Errorf("%d events and %d jobs, want one of each", events, jobs)
	}
	// The same key, and another event.
	other := matterCreated()
	other.ID = "another"
	var collision *outbox.CollisionError
	if _, err := s.emit(other, toAnn); !errors.As(err, &collision) || len(collision.Collisions) != 1 || collision.Collisions[0].Differs[0] != "eventId" {
		t.Errorf("emitting another event with the same key: %v", err)
	}
	changed := matterCreated()
	changed.Payload = map[string]any{"name": "Jones v. Smith"}
	if _, err := s.emit(changed, toAnn); !errors.As(err, &collision) || collision.Collisions[0].Differs[0] != "payload" {
		t.Errorf("emitting the same event with another payload: %v", err)
	}
	if n := s.written(); n != 3 {
		t.Errorf("%d business writes, want those of the three that were no collision", n)
	}
	if events, jobs := s.records(outbox.DomainEvents), s.records(outbox.Jobs); events != 1 || jobs != 1 {
		t.Errorf("%d events and %d jobs, want one of each", events, jobs)
	}
	// It happens again, and says so.
	again := matterCreated()
	again.Revision = "2"
	if out, err := s.emit(again, toAnn); err != nil || out.Repeated || out.Jobs[0].Repeated {
		t.Errorf("a revision: %+v, %v", out, err)
	}
}

func TestEmitNamesAllFaults(t *testing.T) {
	s := onEmbedded(t)
	_, err := s.emit(outbox.DomainEvent{Type: "matter.deleted", ID: "a/b", Payload: 3}, outbox.Job{MaxAttempts: -1, TemplateID: strings.Repeat("x", 1500)})
	if _, ok := errors.AsType[*outbox.InvalidError](err); !ok {
		t.Fatalf("Emit = %v", err)
	}
	for _, field := range []string{"eventType", "orgId", "entityType", "entityId", "eventId", "payload", "jobs[0].recipientId", "jobs[0].channel", "jobs[0].id", "jobs[0].maxAttempts"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
	if s.written() != 0 {
		t.Error("the business write was committed")
	}
}
