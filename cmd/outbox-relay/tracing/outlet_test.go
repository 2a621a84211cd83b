package tracing

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"outboxrelay/cmd/outbox-relay/logging"
)

// exporterFunc is what stands at the far end of a span outlet in these tests.
type exporterFunc func(ctx context.Context, spans int) error

func (f exporterFunc) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return f(ctx, len(spans))
}
func (exporterFunc) Shutdown(context.Context) error { return nil }

// outletTest is an outlet with its provider, metrics and log.
type outletTest struct {
	*spanOutlet
	provider *sdktrace.TracerProvider
	registry *prometheus.Registry
	log      bytes.Buffer
}

func newOutletTest(t *testing.T, room int, export exporterFunc) *outletTest {
	t.Helper()
	o := &outletTest{registry: prometheus.NewRegistry()}
	log, err := logging.New(&o.log, "info", "json", "p")
	if err != nil {
		t.Fatal(err)
	}
	o.spanOutlet = newSpanOutlet(export, room, o.registry, log)
	o.provider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(o.spanOutlet))
	return o
}

func (o *outletTest) end(spans int) {
	for range spans {
		_, span := o.provider.Tracer("test").Start(context.Background(), "span")
		span.End()
	}
}

// counted are the counters of spans: "sent", and the reasons of lost ones.
func (o *outletTest) counted(t *testing.T) map[string]int {
	t.Helper()
	families, err := o.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := "sent"
			if len(m.Label) > 0 {
				name = m.Label[0].GetValue()
			}
			if n := int(m.Counter.GetValue()); n > 0 {
				out[name] = n
			}
		}
	}
	return out
}

// Every span that ended is sent or counted as lost, whatever the collector does,
// and the stop takes no longer than it is given.
func TestSpansAreSentOrCounted(t *testing.T) {
	const spans, room = 100, 40
	for name, tc := range map[string]struct {
		export exporterFunc
		want   map[string]int
		took   time.Duration
		lines  int
	}{
		"a collector that takes all":     {func(context.Context, int) error { return nil }, map[string]int{"sent": room, droppedFull: spans - room}, 0, 1},
		"a collector that refuses":       {func(context.Context, int) error { return errors.New("no") }, map[string]int{droppedUnsent: room, droppedFull: spans - room}, 0, 1},
		"a collector that never answers": {func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }, map[string]int{droppedStop: room, droppedFull: spans - room}, time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutletTest(t, room, tc.export)
				o.end(spans)
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				o.close(ctx)
				if took := time.Since(began); took != tc.took {
					t.Errorf("the stop took %v, want %v", took, tc.took)
				}
				got := o.counted(t)
				sum := 0
				for reason, n := range got {
					sum += n
					if tc.want[reason] != n {
						t.Errorf("%s: %d, want %d", reason, n, tc.want[reason])
					}
				}
				if sum != spans {
					t.Errorf("%d spans are told of, %d ended: %v", sum, spans, got)
				}
				if n := strings.Count(o.log.String(), "spans are lost"); n != tc.lines {
					t.Errorf("%d log lines, want %d:\n%s", n, tc.lines, &o.log)
				}
			})
		})
	}
}

// A collector that is out for an hour is told of once a minute.
func TestLostSpansDoNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutletTest(t, 10, func(context.Context, int) error { return errors.New("no") })
		for range 360 {
			o.end(100)
			time.Sleep(10 * time.Second) // of the bubble's clock
		}
		o.close(t.Context())
		if n := strings.Count(o.log.String(), "spans are lost"); n != 60 {
			t.Errorf("%d log lines in an hour, want 60", n)
		}
	})
}

// Whoever ends a span never waits, not even while the collector hangs.
func TestEndingASpanNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutletTest(t, 10, func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() })
		began := time.Now()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { o.end(1000) })
		}
		wg.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("8,000 spans took %v to end", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		o.close(ctx)
	})
}

// The trace of an event is the same one everywhere, and no other's.
func TestTraceOfAnEvent(t *testing.T) {
	a, span := eventIDs{}.NewIDs(t.Context())
	b, _ := eventIDs{}.NewIDs(t.Context())
	if !a.IsValid() || !span.IsValid() || a == b {
		t.Errorf("traces %v and %v of nothing are not two", a, b)
	}
}
