package inboxtest

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

// Benchmark measures what an inbox on a store costs a consumer that decodes each message and does
// nothing else: bare without an inbox, inbox with one, duplicate where the event was
// processed before. Several messages are under way at the same time, each of an aggregate of its
// own, as a subscriber has them.
func Benchmark(b *testing.B, store inbox.Store, o inbox.Options) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		b.Fatal(err)
	}
	o.Log = slog.New(slog.DiscardHandler)
	box := inbox.New(store, "bench-"+uuid.NewString()[:8], o)
	handle := func(_ context.Context, e *inbox.Event) error { return decode(e.Payload) }
	rec := catalog.Sample(rand.New(rand.NewPCG(1, 1)), catalog.Outbox("skillOutbox"), "agg", 1, time.Now())
	message := func() ([]byte, map[string]string) {
		one := *rec
		one.EventID = uuid.NewString()
		one.AggregateID = "agg-" + one.EventID
		one.IdempotencyKey = contracts.IdempotencyKey(one.EventID, one.AggregateID, 1)
		data, err := contracts.MarshalEnvelope(&one)
		if err != nil {
			b.Error(err)
		}
		return data, contracts.NewMessage(&one, data, one.Lane, "FUNNEL_CRITICAL", "").Attributes
	}
	b.Run("bare", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				data, _ := message()
				var e contracts.Envelope
				if err := json.Unmarshal(data, &e); err != nil || decode(e.Payload) != nil {
					b.Error(err)
				}
			}
		})
	})
	var refused atomic.Int64
	deliver := func(data []byte, attributes map[string]string) {
		if !box.Deliver(b.Context(), data, attributes, handle) {
			refused.Add(1)
		}
	}
	b.Run("inbox", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				deliver(message())
			}
		})
	})
	b.Run("duplicate", func(b *testing.B) {
		data, attributes := message()
		deliver(data, attributes)
		b.SetParallelism(16)
		b.ResetTimer()
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				deliver(data, attributes)
			}
		})
	})
	if n := refused.Load(); n > 0 {
		b.Errorf("%d messages were given back", n)
	}
}

func decode(payload json.RawMessage) error {
	var fields map[string]any
	return json.Unmarshal(payload, &fields)
}
