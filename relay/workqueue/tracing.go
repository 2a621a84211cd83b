package workqueue

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// fieldTraceparent is the field in which a document may bring the trace of what made it.
const fieldTraceparent = "traceparent"

// Attributes of a claim's span. They hold nothing of a document's content.
const (
	spanQueue    = attribute.Key("outbox_relay.queue")
	spanDocument = attribute.Key("outbox_relay.document")
	spanTenant   = attribute.Key("outbox_relay.tenant")
	spanAttempt  = attribute.Key("outbox_relay.attempt")
	spanOutcome  = attribute.Key("outbox_relay.outcome")
)

// span begins the span of a claim, in the trace that its document names, and
// returns what ends it.
func (q *Queue) span(ctx context.Context, c *Claim) (_ context.Context, end func(outcome string)) {
	if q.tracer == nil {
		return ctx, func(string) {}
	}
	if parent, _ := c.Data[fieldTraceparent].(string); parent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{fieldTraceparent: parent})
	}
	ctx, span := q.tracer.Start(ctx, "handle "+q.vocabulary.Queue, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes( //nolint:spancheck // the caller ends it
		spanQueue.String(q.vocabulary.Queue), spanDocument.String(c.Path), spanTenant.String(c.Tenant), spanAttempt.Int(c.Attempt),
	))
	return ctx, func(outcome string) { //nolint:spancheck // see above
		span.SetAttributes(spanOutcome.String(outcome))
		if outcome == outcomeRetry || outcome == outcomeLost {
			span.SetStatus(codes.Error, outcome)
		}
		span.End()
	}
}
