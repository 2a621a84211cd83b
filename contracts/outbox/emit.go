package outbox

import (
	"cmp"
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
)

// Emitted is what became of a domain event and its jobs.
type Emitted struct {
	EventID  string
	Repeated bool         // the event was emitted before
	Jobs     []EmittedJob // in the order given
}

// EmittedJob is what became of a job.
type EmittedJob struct {
	Key      string // and the ID of its document in outbox
	Repeated bool   // it was there before, whatever has become of it since; nothing is written for it now
}

// Emit creates a domain event and its jobs in tx, which must not have written yet: all
// of them with the caller's business write, or nothing. It reads each document first. One that is
// there and says the same is a repeat, for which nothing is written. One that says something
// else is a *CollisionError: another event has the ID, or a job of another event has
// the key. An *InvalidError names what is wrong with the event or a job. Both come before anything is
// written. The trace of ctx's span is kept in the jobs.
func Emit(ctx context.Context, client *firestore.Client, tx *firestore.Transaction, e DomainEvent, jobs ...Job) (*Emitted, error) {
	payload, invalid := e.accept(jobs)
	if invalid != nil {
		return nil, invalid
	}
	ref := client.Collection(DomainEvents).Doc(e.ID)
	refs := []*firestore.DocumentRef{ref}
	fields := []map[string]any{e.fields(payload)}
	_, traceparent := traceOf(ctx)
	out := &Emitted{EventID: e.ID}
	given := map[string]bool{}
	for i := range jobs {
		key := JobKey(&e, &jobs[i])
		out.Jobs = append(out.Jobs, EmittedJob{Key: key, Repeated: given[key]})
		if !given[key] {
			given[key] = true
			refs = append(refs, client.Collection(Jobs).Doc(key))
			fields = append(fields, jobs[i].fields(key, &e, traceparent))
		}
	}
	found, err := tx.GetAll(refs)
	if err != nil {
		return nil, fmt.Errorf("look for the event and its jobs: %w", err)
	}
	collisions := &CollisionError{}
	there := map[string]bool{}
	for i, snap := range found {
		if !snap.Exists() {
			continue
		}
		there[snap.Ref.ID] = i > 0
		names := sameJob
		if i == 0 {
			names, out.Repeated = sameEvent, true
		}
		if differ := differing(snap.Data(), fields[i], names); len(differ) > 0 {
			collisions.Collisions = append(collisions.Collisions, Collision{0, snap.Ref.Parent.ID + "/" + snap.Ref.ID, differ})
		}
	}
	if len(collisions.Collisions) > 0 {
		return nil, collisions
	}
	for i, snap := range found {
		if snap.Exists() {
			continue
		}
		if err := tx.Create(refs[i], fields[i]); err != nil {
			return nil, fmt.Errorf("emit %s: %w", refs[i].ID, err)
		}
	}
	for i := range out.Jobs {
		out.Jobs[i].Repeated = out.Jobs[i].Repeated || there[out.Jobs[i].Key]
	}
	return out, nil
}

// What has to be the same for a document to be a repeat. Of an event, who did it when
// may differ from one try of a request to the next.
var (
	sameEvent = []string{"orgId", "eventType", "entityType", "entityId", "payload"}
	sameJob   = []string{"eventId", "orgId", "jobType", "eventType", "entityType", "entityId", "recipientId", "channel", "templateId"}
)

func differing(stored, wanted map[string]any, names []string) (differ []string) {
	for _, name := range names {
		if !equal(stored[name], wanted[name]) {
			differ = append(differ, name)
		}
	}
	return differ
}

func (e *DomainEvent) fields(payload map[string]any) map[string]any {
	var timestamp any = firestore.ServerTimestamp
	if !e.Timestamp.IsZero() {
		timestamp = e.Timestamp.UTC().Truncate(precision)
	}
	return map[string]any{
		"eventId": e.ID, "orgId": e.OrgID, "eventType": e.Type, "entityType": e.EntityType, "entityId": e.EntityID,
		"actor": e.Actor, "timestamp": timestamp, "payload": payload, "visibility": e.Visibility,
	}
}

func (j *Job) fields(key string, e *DomainEvent, traceparent string) map[string]any {
	f := map[string]any{
		"id": key, "orgId": e.OrgID, "eventId": e.ID, "jobType": j.kind(), "status": JobPending,
		"attempts": int64(0), "maxAttempts": int64(cmp.Or(j.MaxAttempts, MaxJobAttempts)), "nextAttemptAt": firestore.ServerTimestamp,
		"lockedAt": nil, "lockOwner": nil, "lastError": nil, "createdAt": firestore.ServerTimestamp, "updatedAt": firestore.ServerTimestamp,
		"eventType": e.Type, "entityType": e.EntityType, "entityId": e.EntityID,
		"recipientId": j.RecipientID, "channel": j.Channel, "templateId": j.TemplateID,
	}
	if traceparent != "" {
		f["traceparent"] = traceparent
	}
	return f
}
