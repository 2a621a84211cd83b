package firestore_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	"outboxrelay/relay"
	relayfirestore "outboxrelay/relay/firestore"
)

// BenchmarkPageOfTheEmbeddedCloud reads pages of 200 documents of 1 KiB, the server's
// part included, and decodes their records.
func BenchmarkPageOfTheEmbeddedCloud(b *testing.B) {
	_, address := firestoretest.Start(b, localfirestore.Options{})
	client := firestoretest.Client(b, address)
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		b.Fatal(err)
	}
	o := catalog.Outbox("accOutbox")
	random := rand.New(rand.NewPCG(1, 2))
	writes := make([]dlq.Write, 200)
	for i := range writes {
		r := catalog.Sample(random, o, "acc-0001", int64(i), time.Unix(1_750_000_000, 0))
		r.Lane = contracts.StandardLane
		r.Payload["note"] = strings.Repeat("a line of plain text. ", 38)
		writes[i] = dlq.Write{Collection: o.Name, ID: r.ID, Op: dlq.OpCreate, Fields: r.ProducerFields()}
	}
	if _, err := client.Commit(b.Context(), writes); err != nil {
		b.Fatal(err)
	}
	b.Run("sdk", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			it := client.Collection(o.Name).Where(contracts.FieldStatus, "==", string(contracts.Pending)).
				Where(contracts.FieldLane, "==", string(contracts.StandardLane)).OrderBy(contracts.FieldCreatedAt, firestore.Asc).Limit(200).Documents(b.Context())
			n := 0
			for {
				snap, err := it.Next()
				if errors.Is(err, iterator.Done) {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				if rec, faults := contracts.DecodeRecord(o.Name, snap.Ref.ID, snap.Data()); len(faults) > 0 || rec.Payload == nil {
					b.Fatal(faults)
				}
				n++
			}
			if n != len(writes) {
				b.Fatal(n)
			}
		}
	})
	b.Run("ours", func(b *testing.B) {
		store := relayfirestore.New(client, client)
		b.ReportAllocs()
		for b.Loop() {
			docs, err := store.Page(b.Context(), relay.Scan{Outbox: o.Name, Kind: relay.ScanLane, Lane: contracts.StandardLane, Limit: 200})
			if err != nil || len(docs) != len(writes) {
				b.Fatal(err, len(docs))
			}
			for _, d := range docs {
				if d.Record() == nil {
					b.Fatal("not plain")
				}
			}
		}
	})
}
