package relay

import (
	"context"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"outboxrelay/contracts"
	"outboxrelay/ier"
	"outboxrelay/lanes"
	"outboxrelay/relay/feed"
)

// BenchmarkWay takes one record from its document to the mark, with everything
// between them but Firestore and Pub/Sub: without traces, with one of a hundred
// traced, and with all.
func BenchmarkWay(b *testing.B) {
	b.Run("off", func(b *testing.B) { benchWay(b, nil) })
	b.Run("traced=1%", func(b *testing.B) { benchWay(b, benchTracer(b, 0.01)) })
	b.Run("traced=all", func(b *testing.B) { benchWay(b, benchTracer(b, 1)) })
}

// benchTracer traces a share of the records, for nobody.
func benchTracer(b *testing.B, share float64) trace.Tracer {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.TraceIDRatioBased(share)), sdktrace.WithBatcher(discard{}, sdktrace.WithBlocking()))
	b.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return provider.Tracer("bench")
}

// discard is an exporter of nothing.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }

func benchWay(b *testing.B, tracer trace.Tracer) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		b.Fatal(err)
	}
	targets := make(map[string]ier.Target)
	for name := range catalog.Targets {
		targets[name] = willing{}
	}
	router, err := ier.New(ier.Config{Targets: targets, Catalog: catalog, Tracer: tracer})
	if err != nil {
		b.Fatal(err)
	}
	r, err := New(Config{Catalog: catalog, Store: noStore{}, Router: router, Tracer: tracer})
	if err != nil {
		b.Fatal(err)
	}
	o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, always{})
	sample := *o.spec
	sample.Events = []*contracts.EventRoute{o.spec.Route("ScheduleAssigned")} // two targets
	rec := catalog.Sample(rand.New(rand.NewPCG(1, 1)), &sample, "agg", 1, time.Now())
	fields := rec.ProducerFields()
	random := rand.New(rand.NewPCG(2, 2))
	b.ReportAllocs()
	for at := rec.CreatedAt; b.Loop(); at = at.Add(time.Millisecond) { // each time it is written anew after it was settled
		fields[contracts.FieldTraceparent] = parents[random.IntN(len(parents))]
		d := Doc{ID: rec.ID, CreatedAt: rec.CreatedAt, UpdateTime: at, Content: told(func() map[string]any { return maps.Clone(fields) })}
		e := o.newEntry(d, nil)
		if len(e.faults) > 0 || len(o.ledger.step(feed.Found{Record: &e.Record})) != 1 {
			b.Fatal("not taken")
		}
		o.submit(e)
		run := r.pools[e.lane].Withdraw(e.task.Aggregate, func(*lanes.Task) bool { return true })
		if v := r.deliver(b.Context(), run); v[0].Action != lanes.Done {
			b.Fatal("not delivered")
		}
		s := r.settlers[e.lane]
		st := s.queue[0]
		s.queue = s.queue[:0]
		st.written = at
		s.committed(st)
	}
}

// parents are traceparents, so many that a hundredth of them is sampled.
var parents = func() (out []string) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 10_000 {
		out = append(out, "00-"+hexDigits(r, 32)+"-"+hexDigits(r, 16)+"-01")
	}
	return out
}()

func hexDigits(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}

// willing is a target that takes everything.
type willing struct{}

func (willing) Deliver(_ context.Context, parcels []ier.Parcel) []error {
	return make([]error, len(parcels))
}
