package ier

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"outboxrelay/contracts"
)

// traced is a router whose spans are kept, and a job that belongs to one.
func traced(t *testing.T, targets map[string]Target) (*Router, *Job, *tracetest.SpanRecorder) {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for name := range catalog.Targets {
		if targets[name] == nil {
			targets[name] = &scripted{answer: acks}
		}
	}
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	job := newJob(1, slices.Sorted(maps.Keys(targets))...)
	job.Record.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	_, span := tracer.Start(t.Context(), "deliver")
	job.Span = span
	t.Cleanup(func() { span.End() })
	return setup(t, Config{Targets: targets, Catalog: catalog, Tracer: tracer}), job, spans
}

// attributesOf are a span's, as text.
func attributesOf(s sdktrace.ReadOnlySpan) map[string]string {
	out := map[string]string{}
	for _, a := range s.Attributes() {
		out[string(a.Key)] = a.Value.String()
	}
	return out
}

func TestTraceNamesAttempts(t *testing.T) {
	router, job, recorder := traced(t, map[string]Target{
		"FUNNEL": &scripted{answer: func(*contracts.Record) error { return fails(contracts.Attributable, "Refused") }},
	})
	job.Targets = []string{"FUNNEL", "ORG_SCHEDULE", "CLAIMS_HANDLER"}
	router.Deliver(t.Context(), []*Job{job}, nil)

	got := map[string]sdktrace.ReadOnlySpan{}
	for _, s := range recorder.Ended() {
		got[s.Name()] = s
		if s.Parent().SpanID() != job.Span.SpanContext().SpanID() {
			t.Errorf("span %q is not a child of the round", s.Name())
		}
	}
	if want := []string{"handle CLAIMS_HANDLER", "send ier-funnel-standard", "send ier-org-schedule"}; !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
		t.Fatalf("spans %v, want %v", slices.Sorted(maps.Keys(got)), want)
	}
	if diff := cmp.Diff(map[string]string{
		"messaging.system": "gcp_pubsub", "messaging.operation.name": "send", "messaging.operation.type": "send",
		"messaging.destination.name": "ier-org-schedule", "messaging.gcp_pubsub.message.ordering_key": "account-1",
		"messaging.message.body.size": "2", "outbox_relay.target": "ORG_SCHEDULE", "outbox_relay.attempt": "1", "outbox_relay.outcome": "acked",
	}, attributesOf(got["send ier-org-schedule"])); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if kind := got["send ier-org-schedule"].SpanKind(); kind != trace.SpanKindProducer {
		t.Errorf("kind %v, want producer", kind)
	}
	failed := got["send ier-funnel-standard"]
	if a := attributesOf(failed); failed.Status().Code.String() != "Error" || a["error.type"] != "Refused" || a["outbox_relay.outcome"] != "attributable" {
		t.Errorf("a failed attempt has status %v and attributes %v", failed.Status(), a)
	}
}

func TestTraceGoesOnInMessages(t *testing.T) {
	for name, tc := range map[string]struct {
		traced bool
		record string // its traceparent
		same   bool   // want the record's own in the message
	}{
		"traced":                               {true, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false},
		"not traced":                           {false, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", true},
		"not traced, without a traceparent":    {false, "", true},
		"traced, without a traceparent":        {true, "", false},
		"not traced, a malformed traceparent":  {false, "nonsense", true},
		"traced, with a malformed traceparent": {true, "nonsense", false},
	} {
		t.Run(name, func(t *testing.T) {
			var got Parcel
			router, job, recorder := traced(t, map[string]Target{"FUNNEL": targetFunc(func(_ context.Context, parcels []Parcel) []error {
				got = parcels[0]
				return []error{nil}
			})})
			job.Targets, job.Record.Traceparent = []string{"FUNNEL"}, tc.record
			if !tc.traced {
				job.Span = nil
			}
			router.Deliver(t.Context(), []*Job{job}, nil)
			want := tc.record
			if !tc.same {
				sc := recorder.Ended()[0].SpanContext()
				want = "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-01"
			}
			if got := got.Message.Attributes[contracts.AttrTraceparent]; got != want {
				t.Errorf("the message's traceparent is %q, want %q", got, want)
			}
			if _, there := got.Message.Attributes["tracestate"]; there {
				t.Error("the message has a tracestate")
			}
			if job.Record.Traceparent != tc.record {
				t.Errorf("the record's traceparent became %q", job.Record.Traceparent)
			}
		})
	}
}

// What stays behind an older record was not attempted, and says so.
func TestTraceTellsWhatStayedBehind(t *testing.T) {
	router, job, recorder := traced(t, map[string]Target{
		"FUNNEL": &scripted{answer: func(*contracts.Record) error { return fails(contracts.Attributable, "Refused") }},
	})
	second := *job
	job.Targets, second.Targets = []string{"FUNNEL"}, []string{"FUNNEL"}
	router.Deliver(t.Context(), []*Job{job, &second}, nil)
	var got []string
	for _, s := range recorder.Ended() {
		got = append(got, attributesOf(s)["outbox_relay.outcome"])
	}
	if want := []string{"attributable", "behind"}; !slices.Equal(got, want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
}

// While a breaker is open nothing is attempted, so there is no span.
func TestTraceIsSilentWhileABreakerIsOpen(t *testing.T) {
	router, job, recorder := traced(t, map[string]Target{
		"FUNNEL": &scripted{answer: func(*contracts.Record) error { return fails(contracts.Outage, "Unavailable") }},
	})
	job.Targets = []string{"FUNNEL"}
	for !router.Open("FUNNEL") {
		router.Deliver(t.Context(), []*Job{job}, nil)
	}
	tried := len(recorder.Ended())
	router.Deliver(t.Context(), []*Job{job}, nil)
	if got := len(recorder.Ended()); got != tried {
		t.Errorf("%d spans of a round in which nothing was attempted", got-tried)
	}
}

// A handler in this process finds the span of its attempt in its context.
func TestTraceReachesHandlers(t *testing.T) {
	var got trace.SpanContext
	target, err := NewHandlerTarget(HandlerConfig{Handler: handlerFunc(func(ctx context.Context, _ *contracts.Record, _ []byte) error {
		got = trace.SpanContextFromContext(ctx)
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	router, job, recorder := traced(t, map[string]Target{"CLAIMS_HANDLER": target})
	job.Targets = []string{"CLAIMS_HANDLER"}
	router.Deliver(t.Context(), []*Job{job}, nil)
	if want := recorder.Ended()[0].SpanContext(); !got.Equal(want) {
		t.Errorf("the handler's span is %v, want %v", got.SpanID(), want.SpanID())
	}
}

// Tracing costs a delivery nothing while it is off: not one allocation.
func TestTraceOffAllocatesNothing(t *testing.T) {
	router, job, _ := traced(t, map[string]Target{})
	job.Span = nil
	parcel := Parcel{Message: &contracts.Message{Attributes: map[string]string{}}}
	if n := testing.AllocsPerRun(100, func() {
		router.trace(t.Context(), job, &parcel, "FUNNEL", job.Record.CreatedAt)
		parcel.endTrace(OutcomeAcked, nil, job.Record.CreatedAt)
		_ = job.traceField()
	}); n != 0 {
		t.Errorf("%v allocations for a record that is not traced, want 0", n)
	}
}
