package simulation

import (
	"context"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// In a crowded world everything takes whole milliseconds, so that much happens at
// the same moment, and goroutines give way to others where a trace is told of
// them: in the middle of what the relay does to a record.

// moment is what durations are multiples of in a crowded world.
const moment = 2 * time.Millisecond

// crowd rounds a duration up.
func (d *draw) crowd(took time.Duration) time.Duration {
	if !d.crowded {
		return took
	}
	return (took + moment - 1).Truncate(moment)
}

// crowdedTracer is a tracer whose spans give way.
type crowdedTracer struct {
	noop.Tracer
	number func() float64
}

// Start implements trace.Tracer.
func (t crowdedTracer) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	s := crowdedSpan{number: t.number}
	s.giveWay()
	return trace.ContextWithSpan(ctx, s), s
}

type crowdedSpan struct {
	noop.Span
	number func() float64
}

func (s crowdedSpan) giveWay() {
	if s.number() < 0.5 {
		runtime.Gosched()
	}
}

// IsRecording implements trace.Span.
func (s crowdedSpan) IsRecording() bool { return true }

// SpanContext implements trace.Span.
func (s crowdedSpan) SpanContext() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled})
}

// SetAttributes implements trace.Span.
func (s crowdedSpan) SetAttributes(...attribute.KeyValue) { s.giveWay() }

// End implements trace.Span.
func (s crowdedSpan) End(...trace.SpanEndOption) { s.giveWay() }
