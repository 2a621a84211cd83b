package outbox_test

import (
	"context"
	"testing"

	"cloud.google.com/go/firestore"
	"go.uber.org/goleak"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

// slice is a producer with a Firestore and an Appender.
type slice struct {
	t       testing.TB
	server  *localfirestore.Server // nil on Google's emulator
	client  *firestore.Client
	catalog *contracts.Catalog
	*outbox.Appender
}

func onEmbedded(t testing.TB) *slice {
	t.Helper()
	server, address := firestoretest.Start(t, localfirestore.Options{})
	s := at(t, address)
	s.server = server
	return s
}

func onGoogle(t testing.TB) *slice {
	t.Helper()
	return at(t, firestoretest.OnGoogle(t))
}

func at(t testing.TB, address string) *slice {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	client := firestoretest.Client(t, address).Client
	return &slice{t: t, client: client, catalog: catalog, Appender: outbox.New(client, catalog)}
}

// append appends in a transaction with a business write.
func (s *slice) append(ctx context.Context, events ...outbox.Event) (results []outbox.Result, err error) {
	err = s.client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		var err error
		if results, err = s.Append(ctx, tx, events...); err != nil {
			return err
		}
		return tx.Set(s.client.Doc("business/one"), map[string]any{"n": firestore.Increment(1)}, firestore.MergeAll)
	})
	return results, err
}

func (s *slice) mustAppend(events ...outbox.Event) []outbox.Result {
	s.t.Helper()
	results, err := s.append(context.Background(), events...)
	if err != nil {
		s.t.Fatal(err)
	}
	return results
}

// written counts business writes that were committed.
func (s *slice) written() int64 {
	s.t.Helper()
	doc, err := s.client.Doc("business/one").Get(context.Background())
	if doc == nil || !doc.Exists() {
		if doc == nil {
			s.t.Fatal(err)
		}
		return 0
	}
	n, _ := doc.Data()["n"].(int64)
	return n
}

// stored reads a record as the relay does and has it judged by the relay's check.
func (s *slice) stored(document *firestore.DocumentRef) (*contracts.Record, contracts.Checked) {
	s.t.Helper()
	doc, err := document.Get(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	rec, faults := contracts.DecodeRecord(document.Parent.ID, document.ID, doc.Data())
	return rec, s.catalog.Check(rec, faults)
}

// records counts the documents of an outbox.
func (s *slice) records(box string) int {
	s.t.Helper()
	docs, err := s.client.Collection(box).Documents(context.Background()).GetAll()
	if err != nil {
		s.t.Fatal(err)
	}
	return len(docs)
}

func credited(version int64, amount any) outbox.Event {
	return outbox.Event{
		Type: "WalletCredited", AggregateID: "acc-1", AggregateVersion: version,
		Payload: map[string]any{"accountId": "acc-1", "amount": amount},
	}
}
