package ier

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Attributes of the span of an attempt, beside those that OpenTelemetry names.
const (
	spanTarget  = attribute.Key("outbox_relay.target")
	spanAttempt = attribute.Key("outbox_relay.attempt")
	spanOutcome = attribute.Key("outbox_relay.outcome") // as in a lag sample, or "behind"
	spanCode    = attribute.Key("outbox_relay.code")
)

// outcomeBehind is the outcome of a parcel that was handed to its target, which
// left it behind an older one that failed.
const outcomeBehind = "behind"

// trace begins the span of an attempt, unless its record is not traced, and has
// the message name it as the parent of whatever its consumer does.
func (r *Router) trace(ctx context.Context, job *Job, p *Parcel, target string, start time.Time) {
	if job.Span == nil || r.cfg.Tracer == nil {
		return
	}
	name, kind, attributes := r.describe(target)
	ctx, span := r.cfg.Tracer.Start(trace.ContextWithSpan(ctx, job.Span), name, trace.WithTimestamp(start), trace.WithSpanKind(kind))
	span.SetAttributes(attributes...)
	span.SetAttributes(spanTarget.String(target), spanAttempt.Int(job.Attempt), semconv.MessagingMessageBodySize(len(p.Message.Data)))
	if kind == trace.SpanKindProducer && p.Message.OrderingKey != "" {
		span.SetAttributes(semconv.MessagingGCPPubSubMessageOrderingKey(p.Message.OrderingKey))
	}
	p.Span = span
	propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(p.Message.Attributes))
}

// describe names the span of an attempt at a target, by OpenTelemetry's
// conventions for messaging where it is a topic.
func (r *Router) describe(target string) (name string, kind trace.SpanKind, attributes []attribute.KeyValue) {
	var spec contracts.TargetSpec
	if r.cfg.Catalog != nil {
		spec = r.cfg.Catalog.Targets[target]
	}
	if topic := spec.Topic; spec.Kind == contracts.KindPubSub {
		return "send " + topic, trace.SpanKindProducer, []attribute.KeyValue{
			semconv.MessagingSystemGCPPubSub, semconv.MessagingOperationName("send"), semconv.MessagingOperationTypeSend,
			semconv.MessagingDestinationName(topic),
		}
	}
	return "handle " + target, trace.SpanKindInternal, nil
}

// endTrace ends the span of an attempt; outcome is that of its lag sample.
func (p *Parcel) endTrace(outcome string, failure *TargetFailure, end time.Time) {
	if p.Span == nil {
		return
	}
	p.Span.SetAttributes(spanOutcome.String(outcome))
	if failure != nil {
		p.Span.SetAttributes(spanCode.String(failure.Code), semconv.ErrorTypeKey.String(failure.Code))
		p.Span.SetStatus(codes.Error, failure.Message)
	}
	p.Span.End(trace.WithTimestamp(end))
}

// traceField joins a log line to the record's trace.
func (j *Job) traceField() zap.Field {
	if j.Span == nil {
		return zap.Skip()
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), j.Span), carrier)
	return zap.String(contracts.AttrTraceparent, carrier[contracts.AttrTraceparent])
}
