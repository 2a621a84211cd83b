package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"

	"outboxrelay/relay"
)

// eventIDs makes the IDs of traces and spans. The trace of a record that brings
// none is made of its event ID: whichever instance reads it, and however often,
// its spans are in one trace, and the same share of traces is sampled everywhere.
type eventIDs struct{}

// NewIDs implements sdktrace.IDGenerator.
func (g eventIDs) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if event := relay.TracedEvent(ctx); event != "" {
		sum := sha256.Sum256([]byte(event))
		copy(id[:], sum[:])
	}
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:8], rand.Uint64())
		binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (eventIDs) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
