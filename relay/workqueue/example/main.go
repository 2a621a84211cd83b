// Command example tells people of something twice: by a job, as a backend does it in the
// transaction of its own write, and by an event of notifications, as a front end
// creates it. Then it waits until they are told.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts/outbox"
)

// condominium is the tenant of the notifications.
const condominium = "clients/client-1/condominiums/condo-1"

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	client, err := firestore.NewClient(ctx, os.Getenv("GOOGLE_CLOUD_PROJECT"))
	if err == nil {
		err = run(ctx, client)
		err = errors.Join(err, client.Close())
	}
	cancel()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client *firestore.Client) error {
	job, err := openMatter(ctx, client, "m-1", "Smith v. Jones")
	if err != nil {
		return err
	}
	if err := told(ctx, client.Doc("in_app_messages/"+job)); err != nil {
		return err
	}
	event, err := reportLeak(ctx, client)
	if err != nil {
		return err
	}
	return told(ctx, client.Doc(condominium+"/users/ann/notifications/"+event))
}

// openMatter writes a matter, its domain event and a job for ann: all of it, or nothing. It
// returns the job's key.
func openMatter(ctx context.Context, client *firestore.Client, id, name string) (job string, err error) {
	err = client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		emitted, err := outbox.Emit(ctx, client, tx, outbox.DomainEvent{
			Type: "matter.created", OrgID: "org-1", EntityType: "matter", EntityID: id, Actor: "bob", Payload: map[string]any{"name": name},
		}, outbox.Job{RecipientID: "ann", Channel: "in_app", TemplateID: "matter-created"})
		if err != nil {
			return err // nothing was written, and nothing will be
		}
		job = emitted.Jobs[0].Key
		return tx.Set(client.Doc("matters/"+id), map[string]any{"name": name})
	})
	return job, err
}

// reportLeak creates an event for the administrators of a condominium, of whom ann is one.
func reportLeak(ctx context.Context, client *firestore.Client) (event string, err error) {
	if _, err := client.Doc(condominium+"/users/ann").Set(ctx, map[string]any{"role": "admin"}); err != nil {
		return "", err
	}
	doc, _, err := client.Collection(condominium+"/notificationEvents").Add(ctx, map[string]any{
		"eventType": "maintenance.ticket_created", "module": "maintenance", "priority": "medium",
		"title": "New ticket: a leak", "body": "On the third floor.", "dedupeKey": "maintenance:ticket:" + time.Now().String() + ":created",
		"channels": []string{"in_app"}, "audience": map[string]any{"scope": "admins"}, "createdBy": "bob",
		"createdAt": firestore.ServerTimestamp, "status": "pending_dispatch", "clientId": "client-1", "condominiumId": "condo-1",
	})
	if err != nil {
		return "", err
	}
	return doc.ID, nil
}

// told waits for a message and prints its title.
func told(ctx context.Context, message *firestore.DocumentRef) error {
	it := message.Snapshots(ctx)
	defer it.Stop()
	for {
		snap, err := it.Next()
		if err != nil {
			return fmt.Errorf("wait for %s: %w", message.ID, err)
		}
		if snap.Exists() {
			fmt.Printf("ann is told: %v\n", snap.Data()["title"])
			return nil
		}
	}
}
