// Command notifications is a whole consumer: for each event on the topic of schedules it
// writes one notification to Firestore, exactly once.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"syscall"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
	inboxfirestore "outboxrelay/contracts/inbox/firestore"
	"outboxrelay/dlq/consumers"
	dlqfirestore "outboxrelay/dlq/firestore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv("GOOGLE_CLOUD_PROJECT")); err != nil {
		log.Fatal(err)
	}
}

// run consumes until ctx ends.
func run(ctx context.Context, project string) (err error) {
	catalog, err := contracts.DefaultCatalog() // or contracts.LoadCatalog("catalog.yaml"), as the relay has it
	if err != nil {
		return err
	}
	db, err := dlqfirestore.Connect(ctx, project)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	client, err := pubsub.NewClient(ctx, project)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if err := subscribe(ctx, client, "notifications", "ier-notif-router"); err != nil {
		return err
	}

	store := inboxfirestore.New(db.Client)
	box := inbox.New(store, "notifications", inbox.Options{
		Catalog:     catalog,
		DeadLetters: consumers.New(dlqfirestore.New(db), catalog),
	})
	handler := func(_ context.Context, tx *firestore.Transaction, e *inbox.Event) error {
		log.Printf("%s of %s", e.EventName, e.AggregateID) // twice, where the transaction has to be tried again
		return tx.Create(db.Collection("notifications").Doc(e.EventID), map[string]any{
			"event": e.EventName, "about": e.AggregateID, "payload": string(e.Payload), "at": e.OccurredAt,
		})
	}
	log.Print("consuming ier-notif-router")
	return box.Receive(ctx, client.Subscriber("notifications"), inbox.HandleIn(box, store, handler))
}

// subscribe makes the subscription where it is missing: with message ordering, and a backoff for
// what has to wait.
func subscribe(ctx context.Context, client *pubsub.Client, name, topic string) error {
	_, err := client.SubscriptionAdminClient.CreateSubscription(ctx, &pubsubpb.Subscription{
		Name:                  "projects/" + client.Project() + "/subscriptions/" + name,
		Topic:                 "projects/" + client.Project() + "/topics/" + topic,
		EnableMessageOrdering: true,
		AckDeadlineSeconds:    60,
		RetryPolicy: &pubsubpb.RetryPolicy{
			MinimumBackoff: durationpb.New(10e9), MaximumBackoff: durationpb.New(600e9),
		},
	})
	if status.Code(err) == codes.AlreadyExists {
		return nil
	}
	return err
}
