package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
)

// embedded is what the examples run on. A producer calls firestore.NewClient and
// contracts.LoadCatalog.
func embedded() (client *firestore.Client, catalog *contracts.Catalog, end func()) {
	server, err := localfirestore.Open(localfirestore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	address, err := server.Start("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	client, err = firestore.NewClient(context.Background(), "example", local.FirestoreOptions(address)...)
	if err != nil {
		log.Fatal(err)
	}
	if catalog, err = contracts.DefaultCatalog(); err != nil {
		log.Fatal(err)
	}
	return client, catalog, func() {
		_ = client.Close()
		_ = server.Close()
	}
}

// An aggregate's version is counted in its own document, which the transaction reads.
func ExampleAppender_Append() {
	client, catalog, end := embedded()
	defer end()
	events := outbox.New(client, catalog)

	credit := func(account string, amount int64) error {
		wallet := client.Collection("wallets").Doc(account)
		return client.RunTransaction(context.Background(), func(ctx context.Context, tx *firestore.Transaction) error {
			var state struct {
				Balance int64 `firestore:"balance"`
				Version int64 `firestore:"version"`
			}
			before, err := tx.Get(wallet)
			if err == nil {
				err = before.DataTo(&state)
			} else if status.Code(err) == codes.NotFound { // the first credit
				err = nil
			}
			if err != nil {
				return err
			}
			state.Balance += amount
			state.Version++

			appended, err := events.Append(ctx, tx, outbox.Event{
				Type: "WalletCredited", AggregateID: account, AggregateVersion: state.Version,
				Payload: map[string]any{"accountId": account, "amount": amount, "balance": state.Balance},
			})
			if err != nil {
				return err
			}
			fmt.Println(appended[0].Document.Parent.ID, appended[0].IdempotencyKey)
			return tx.Set(wallet, state)
		})
	}
	fmt.Println(credit("acc-1", 25))
	fmt.Println(credit("acc-1", 5))
	// Output:
	// accOutbox b826f531-c502-5e60-92b8-69e19391f269:acc-1:1
	// <nil>
	// accOutbox 73b9dee0-9287-564c-9fe4-16b35aa90813:acc-1:2
	// <nil>
}

// Every fault is told before anything is written.
func ExampleInvalidError() {
	client, catalog, end := embedded()
	defer end()
	events := outbox.New(client, catalog)
	err := client.RunTransaction(context.Background(), func(ctx context.Context, tx *firestore.Transaction) error {
		_, err := events.Append(ctx, tx, outbox.Event{
			Type: "WalletCredited", AggregateID: "acc-1", AggregateVersion: -1,
			Payload: struct {
				AccountID int    `json:"accountId"`
				Amount    string `json:"amount"`
			}{7, "ten"},
		})
		return err
	})
	if invalid, ok := errors.AsType[*outbox.InvalidError](err); ok {
		for _, fault := range invalid.Events[0].Faults {
			fmt.Println(fault)
		}
	}
	// Output:
	// aggregateVersion is -1, want 0 or more
	// payload.accountId is a number, want a string
	// payload.amount does not match ^-?[0-9]+([.][0-9]+)?$
}

// Records reads nothing. A repeat fails the commit, and Compare tells which it was.
func ExampleAppender_Records() {
	client, catalog, end := embedded()
	defer end()
	events, ctx := outbox.New(client, catalog), context.Background()

	open := func() error {
		records, err := events.Records(ctx, outbox.Event{
			Type: "AccountCreated", AggregateID: "acc-1", AggregateVersion: 1, Payload: map[string]any{"accountId": "acc-1"},
		})
		if err != nil {
			return err
		}
		err = client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
			for _, r := range records {
				if err := tx.Create(r.Document, r.Data()); err != nil {
					return err
				}
			}
			return tx.Set(client.Doc("accounts/acc-1"), map[string]any{"open": true})
		})
		if status.Code(err) != codes.AlreadyExists {
			return err
		}
		found, err := events.Compare(ctx, records...)
		if err != nil { // a *CollisionError, or Firestore's
			return err
		}
		fmt.Println("repeated:", found[0].Repeated)
		return nil
	}
	fmt.Println(open())
	fmt.Println(open())
	// Output:
	// <nil>
	// repeated: true
	// <nil>
}

// Prepare reads, so that the transaction can go on reading before it writes.
func ExampleAppender_Prepare() {
	client, catalog, end := embedded()
	defer end()
	events := outbox.New(client, catalog)
	err := client.RunTransaction(context.Background(), func(ctx context.Context, tx *firestore.Transaction) error {
		prepared, err := events.Prepare(ctx, tx, outbox.Event{
			Type: "AccountCreated", AggregateID: "acc-1", AggregateVersion: 1, Payload: map[string]any{"accountId": "acc-1"},
		})
		if err != nil {
			return err
		}
		if prepared.Results()[0].Repeated {
			return nil
		}
		account := client.Doc("accounts/acc-1")
		if _, err := tx.Get(account); err == nil || status.Code(err) != codes.NotFound { // a read of its own
			return err
		}
		if err := tx.Create(account, map[string]any{"version": 1}); err != nil {
			return err
		}
		return prepared.Write(tx)
	})
	fmt.Println(err)
	// Output: <nil>
}

// Emit creates a domain event and its jobs with the business write. Tried again, it writes nothing.
func ExampleEmit() {
	client, _, end := embedded()
	defer end()
	assign := func(task, assignee string) error {
		return client.RunTransaction(context.Background(), func(ctx context.Context, tx *firestore.Transaction) error {
			emitted, err := outbox.Emit(ctx, client, tx, outbox.DomainEvent{
				Type: "task.assigned", OrgID: "org-1", EntityType: "task", EntityID: task, Revision: "1",
				Payload: map[string]any{"assignee": assignee},
			},
				outbox.Job{RecipientID: assignee, Channel: "in_app", TemplateID: "task_assigned"},
				outbox.Job{RecipientID: assignee, Channel: "email", TemplateID: "task_assigned"},
			)
			if err != nil {
				return err
			}
			for _, job := range emitted.Jobs {
				fmt.Println(job.Key, job.Repeated)
			}
			if emitted.Repeated {
				return nil
			}
			return tx.Set(client.Doc("tasks/"+task), map[string]any{"assignee": assignee})
		})
	}
	fmt.Println(assign("task-1", "user-7"))
	fmt.Println(assign("task-1", "user-7"))
	// Output:
	// notification_dispatch:org-1:task.assigned:task:task-1#1:user-7:in_app:task_assigned false
	// notification_dispatch:org-1:task.assigned:task:task-1#1:user-7:email:task_assigned false
	// <nil>
	// notification_dispatch:org-1:task.assigned:task:task-1#1:user-7:in_app:task_assigned true
	// notification_dispatch:org-1:task.assigned:task:task-1#1:user-7:email:task_assigned true
	// <nil>
}
