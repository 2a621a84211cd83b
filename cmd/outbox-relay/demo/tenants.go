package demo

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
)

// SampleTemplate is the ID of the template that sample jobs name.
const SampleTemplate = "sample-matter-created"

// WithTemplate returns a copy of a catalog that has SampleTemplate.
func WithTemplate(c *contracts.Catalog) *contracts.Catalog {
	out := *c
	out.Templates = map[string]contracts.Template{SampleTemplate: {
		Title: "New matter {{.event.payload.name}}", Body: "{{.event.actor}} has created it, {{.recipientId}}.\n",
	}}
	maps.Copy(out.Templates, c.Templates)
	return &out
}

// Sample condominiums, each with people of three roles.
var (
	condominiums = []notifications.Tenant{{ClientID: "acme", CondominiumID: "palms"}, {ClientID: "acme", CondominiumID: "lake"}, {ClientID: "zenith", CondominiumID: "tower"}}
	people       = map[string]string{"ana": "admin", "ben": "admin-assistant", "cyd": "resident"}
)

// tallyEvery is how often what has become of the samples is counted.
const tallyEvery = 500 * time.Millisecond

// Tenants make work for the work queues: events of condominiums, each for its admin and
// assistant, and domain events with a job for somebody.
type Tenants struct {
	Client *firestore.Client
	Every  time.Duration // between two of each
	Count  int           // of each; 0: until the context ends

	mu    sync.Mutex
	tally Tally
}

// Tally is the last count. The method of nil tells of nothing to wait for.
func (t *Tenants) Tally() Tally {
	if t == nil {
		return Tally{Complete: true}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tally
}

// Run makes samples, and counts what becomes of them, until ctx ends or all is done.
func (t *Tenants) Run(ctx context.Context) error {
	seed := fmt.Sprintf("%08x", rand.Uint32()) // a second run over kept data makes others
	t.settle(ctx)
	made := 0
	next, count := time.NewTicker(max(t.Every, time.Millisecond)), time.NewTicker(tallyEvery)
	defer next.Stop()
	defer count.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
			if t.Count > 0 && made == t.Count {
				next.Stop()
				continue
			}
			if t.make(ctx, fmt.Sprintf("%s-%d", seed, made), condominiums[made%len(condominiums)]) {
				made++
			}
		case <-count.C:
			if t.look(ctx, seed, int64(made)).Complete {
				return nil
			}
		}
	}
}

// settle writes the people, and tries until they are there.
func (t *Tenants) settle(ctx context.Context) {
	for _, tenant := range condominiums {
		for id, role := range people {
			ref := t.Client.Doc(tenant.Path() + "/" + notifications.CollectionUsers + "/" + id)
			for {
				if _, err := ref.Set(ctx, map[string]any{"role": role, "active": true}); err == nil || !shell.Pause(ctx, appendAgain) {
					break
				}
			}
		}
	}
}

// make makes one event and one job; false: Firestore was away, and they are made later.
func (t *Tenants) make(ctx context.Context, id string, tenant notifications.Tenant) bool {
	_, err := t.Client.Doc(tenant.Path()+"/"+notifications.CollectionEvents+"/"+id).Set(ctx, map[string]any{
		"eventType": "maintenance.ticket_created", "module": "maintenance", "priority": "medium",
		"title": "Maintenance ticket " + id, "body": "The lift makes a noise.", "dedupeKey": "maintenance:ticket:" + id + ":created",
		"channels": []string{"in_app"}, "audience": map[string]any{"scope": string(notifications.AdminsAndAssistants), "userIds": []string{}},
		"entityId": id, "entityType": "ticket_maintenance", "metadata": map[string]any{}, "createdAt": firestore.ServerTimestamp,
		"createdBy": "cyd", "createdByName": "Cyd", "status": notifications.StatusPending, "clientId": tenant.ClientID, "condominiumId": tenant.CondominiumID,
	})
	if err != nil {
		return false
	}
	err = t.Client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		event, job := matter(tenant.ClientID, id)
		_, err := outbox.Emit(ctx, t.Client, tx, event, job)
		return err
	})
	return err == nil
}

// matter is the domain event of a sample, and its job.
func matter(clientID, id string) (outbox.DomainEvent, outbox.Job) {
	return outbox.DomainEvent{
		Type: "matter.created", OrgID: clientID, EntityType: "matter", EntityID: id, Actor: "ana", Payload: map[string]any{"name": "Lift " + id},
	}, outbox.Job{RecipientID: "ben", Channel: "in_app", TemplateID: SampleTemplate}
}

// workCollections are what the work queues and the tenants read and write, which is no part of
// the relay's bill.
var workCollections = []string{
	outbox.Jobs, outbox.DomainEvents, jobs.InAppMessages, notifications.CollectionEvents, notifications.CollectionQueue, notifications.CollectionDedupe,
	notifications.CollectionStats, notifications.CollectionDeadLetters, notifications.CollectionUsers, notifications.CollectionBells,
}
