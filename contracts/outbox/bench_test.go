package outbox_test

import (
	"context"
	"testing"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts/outbox"
)

// BenchmarkTransaction holds a transaction with an append against the same one that
// creates the same document by hand, and against the business write alone.
func BenchmarkTransaction(b *testing.B)         { transactions(b, onEmbedded(b)) }
func BenchmarkTransactionOnGoogle(b *testing.B) { transactions(b, onGoogle(b)) }

func transactions(b *testing.B, s *slice) {
	version := int64(0)
	next := func() outbox.Event {
		version++
		return credited(version, 25)
	}
	sound, err := s.Records(b.Context(), next())
	if err != nil {
		b.Fatal(err)
	}
	byHand := sound[0].Data()
	for _, way := range []struct {
		name string
		add  func(context.Context, *firestore.Transaction) error
	}{
		{"business write alone", func(context.Context, *firestore.Transaction) error { return nil }},
		{"record by hand", func(_ context.Context, tx *firestore.Transaction) error {
			return tx.Create(s.client.Collection("accOutbox").NewDoc(), byHand)
		}},
		{"Records", func(ctx context.Context, tx *firestore.Transaction) error {
			records, err := s.Records(ctx, next())
			if err != nil {
				return err
			}
			return tx.Create(records[0].Document, records[0].Data())
		}},
		{"Append", func(ctx context.Context, tx *firestore.Transaction) error {
			_, err := s.Append(ctx, tx, next())
			return err
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				err := s.client.RunTransaction(b.Context(), func(ctx context.Context, tx *firestore.Transaction) error {
					if err := way.add(ctx, tx); err != nil {
						return err
					}
					return tx.Set(s.client.Collection("business").NewDoc(), map[string]any{"amount": 25})
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRecords is what an append costs the producer's own processor.
func BenchmarkRecords(b *testing.B) {
	s := onEmbedded(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Records(b.Context(), credited(1, 25)); err != nil {
			b.Fatal(err)
		}
	}
}
