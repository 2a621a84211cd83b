package outbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traceOf returns the trace of ctx's span and its W3C traceparent; without a span a
// new trace ID, and no traceparent, as there is no span that it could name.
func traceOf(ctx context.Context) (traceID, traceparent string) {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		var id [16]byte
		_, _ = rand.Read(id[:]) // never fails
		return hex.EncodeToString(id[:]), ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return span.TraceID().String(), carrier.Get("traceparent")
}
