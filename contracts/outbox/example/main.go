// Command example opens an account and appends the event of it, both in one
// transaction.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
)

func main() {
	ctx := context.Background()
	client, err := firestore.NewClient(ctx, os.Getenv("GOOGLE_CLOUD_PROJECT"))
	if err != nil {
		log.Fatal(err)
	}
	catalog, err := contracts.LoadCatalog("") // the default; or the file that the relay runs with
	if err != nil {
		log.Fatal(err)
	}
	said, err := open(ctx, client, outbox.New(client, catalog), "acc-1", "zh-TW")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(said)
	if err := client.Close(); err != nil {
		log.Fatal(err)
	}
}

func open(ctx context.Context, client *firestore.Client, events *outbox.Appender, account, locale string) (said string, err error) {
	err = client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		appended, err := events.Append(ctx, tx, outbox.Event{
			Type:             "AccountCreated",
			AggregateID:      account,
			AggregateVersion: 1,
			Payload:          map[string]any{"accountId": account, "locale": locale},
		})
		switch {
		case err != nil:
			return err // nothing was written, and nothing will be
		case appended[0].Repeated:
			said = account + " is open already"
			return nil
		}
		said = account + " is opened, and " + appended[0].Document.Parent.ID + " tells of it"
		return tx.Create(client.Collection("accounts").Doc(account), map[string]any{"locale": locale, "version": 1})
	})
	return said, err
}
