package simulation

import (
	"context"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap/zapcore"
)

// In a crowded world everything takes whole milliseconds, so that much happens at
// the same moment, and goroutines give way to others where a trace or the log is told
// of what they do: in the middle of what the relay does to a record. Who is about to
// deliver stands still for a moment now and then, as on a machine that is busy.

// moment is what durations are multiples of in a crowded world.
const moment = 2 * time.Millisecond

// crowd rounds a duration up.
func (d *draw) crowd(took time.Duration) time.Duration {
	if !d.crowded {
		return took
	}
	return (took + moment - 1).Truncate(moment)
}

// suspend has the goroutine stand still for a moment now and then, or give way. It holds
// no lock: those who waited for that would not be idle, and time would not go on.
func suspend(number func() float64) {
	if number() < 0.2 {
		time.Sleep(moment)
	} else {
		giveWay(number)
	}
}

// giveWay lets others go on with what they can do at this moment: none, some, or as good
// as all of it.
func giveWay(number func() float64) {
	n := 0
	switch often := number(); {
	case often < 0.1:
		n = 100
	case often < 0.5:
		n = 1
	}
	for range n {
		runtime.Gosched()
	}
}

// crowdedCore is a log's core that gives way where the log is told of something.
type crowdedCore struct{ number func() float64 }

// Enabled implements zapcore.Core.
func (crowdedCore) Enabled(zapcore.Level) bool { return true }

// With implements zapcore.Core.
func (c crowdedCore) With([]zapcore.Field) zapcore.Core { return c }

// Check implements zapcore.Core.
func (c crowdedCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return checked.AddCore(e, c)
}

// Write implements zapcore.Core.
func (c crowdedCore) Write(zapcore.Entry, []zapcore.Field) error {
	giveWay(c.number)
	return nil
}

// Sync implements zapcore.Core.
func (crowdedCore) Sync() error { return nil }

// crowdedTracer is a tracer whose spans give way, and which suspends who begins to
// deliver.
type crowdedTracer struct {
	noop.Tracer
	number func() float64
}

// Start implements trace.Tracer.
func (t crowdedTracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	s := crowdedSpan{number: t.number}
	if name == "deliver" {
		suspend(t.number)
	} else {
		giveWay(t.number)
	}
	return trace.ContextWithSpan(ctx, s), s
}

type crowdedSpan struct {
	noop.Span
	number func() float64
}

// IsRecording implements trace.Span.
func (s crowdedSpan) IsRecording() bool { return true }

// SpanContext implements trace.Span.
func (s crowdedSpan) SpanContext() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled})
}

// SetAttributes implements trace.Span.
func (s crowdedSpan) SetAttributes(...attribute.KeyValue) { giveWay(s.number) }

// End implements trace.Span.
func (s crowdedSpan) End(...trace.SpanEndOption) { giveWay(s.number) }
