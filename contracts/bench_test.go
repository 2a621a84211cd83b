package contracts

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// benchRecord is a WalletDeducted, whose payload has a schema, of 1 KiB.
func benchRecord(b *testing.B) (*Catalog, *Record, map[string]any) {
	cat := defaultCatalog(b)
	o := cat.Outbox("accOutbox")
	rec := sampleOf(rand.New(rand.NewPCG(1, 2)), o, o.Route("WalletDeducted"), "acc-0001", 7, time.Unix(1_750_000_000, 0))
	rec.Payload["note"] = strings.Repeat("a line of plain text. ", 38)
	data, err := json.Marshal(rec.Payload)
	if err != nil {
		b.Fatal(err)
	}
	if len(data) < 1000 || len(data) > 1100 {
		b.Fatalf("payload is %d bytes, want about 1 KiB", len(data))
	}
	fields := rec.ProducerFields()
	return cat, rec, fields
}

func BenchmarkDecodeAndCheck(b *testing.B) {
	cat, _, fields := benchRecord(b)
	b.ReportAllocs()
	for b.Loop() {
		rec, faults := DecodeRecord("accOutbox", "id", fields)
		if checked := cat.Check(rec, faults); checked.Data == nil {
			b.Fatal(checked.Faults)
		}
	}
}

func BenchmarkDecodeAndCheckWithoutSchema(b *testing.B) {
	cat, _, fields := benchRecord(b)
	fields[FieldEventType] = "AccountCreated"
	fields[FieldLane], fields[FieldTier] = string(StandardLane), string(SafeAuto)
	b.ReportAllocs()
	for b.Loop() {
		rec, faults := DecodeRecord("accOutbox", "id", fields)
		if checked := cat.Check(rec, faults); checked.Data == nil {
			b.Fatal(checked.Faults)
		}
	}
}

func BenchmarkEnvelope(b *testing.B) {
	_, rec, _ := benchRecord(b)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := MarshalEnvelope(rec); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := referenceEnvelope(rec); err != nil {
				b.Fatal(err)
			}
		}
	})
}
