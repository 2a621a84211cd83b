package relay

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"outboxrelay/contracts"
)

// tracing makes the trails of records. A nil one makes none: it costs a record
// a nil pointer.
type tracing struct {
	tracer    trace.Tracer
	malformed *prometheus.CounterVec // outbox
	now       func() time.Time
}

// newTracing returns nil without a tracer.
func newTracing(tracer trace.Tracer, now func() time.Time, reg prometheus.Registerer, c *contracts.Catalog) *tracing {
	if tracer == nil {
		return nil
	}
	t := &tracing{tracer: tracer, now: now, malformed: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "relay_traceparents_malformed_total", Help: "Records with a traceparent that W3C does not know, which got a trace of their own. Only while traces are on.",
	}, []string{"outbox"})}
	for _, o := range c.Outboxes {
		t.malformed.WithLabelValues(o.Name)
	}
	if reg != nil {
		reg.MustRegister(t.malformed)
	}
	return t
}

// Attributes of a trail's spans. They hold nothing of a payload.
const (
	spanEventID     = attribute.Key("outbox_relay.event_id")
	spanEventType   = attribute.Key("outbox_relay.event_type")
	spanTraceID     = attribute.Key("outbox_relay.trace_id") // the record's traceId, not the trace's
	spanOutbox      = attribute.Key("outbox_relay.outbox")
	spanRecord      = attribute.Key("outbox_relay.record")
	spanLane        = attribute.Key("outbox_relay.lane")
	spanAggregate   = attribute.Key("outbox_relay.aggregate_id")
	spanVersion     = attribute.Key("outbox_relay.aggregate_version")
	spanAttempt     = attribute.Key("outbox_relay.attempt")
	spanTarget      = attribute.Key("outbox_relay.target")
	spanKind        = attribute.Key("outbox_relay.kind") // of a failure
	spanCode        = attribute.Key("outbox_relay.code")
	spanOutcome     = attribute.Key("outbox_relay.outcome")
	spanDeadLetter  = attribute.Key("outbox_relay.dead_letter")
	spanTier        = attribute.Key("outbox_relay.tier")
	spanReason      = attribute.Key("outbox_relay.reason")
	spanReplay      = attribute.Key("outbox_relay.replay") // how many-th
	spanSettlement  = attribute.Key("outbox_relay.settlement")
	spanWaitsOn     = attribute.Key("outbox_relay.waits_on")
	spanQueuedMs    = attribute.Key("outbox_relay.queued_ms")
	spanBackedOffMs = attribute.Key("outbox_relay.backed_off_ms")
	spanAheadMs     = attribute.Key("outbox_relay.created_ahead_ms") // how far createdAt is ahead of this instance's clock
)

// record begins the trail of a record that was taken into memory: from its
// append on, by the server's clock. Where that is ahead of ours, it begins when
// we had it.
func (t *tracing) record(e *entry) *trail {
	if t == nil {
		return nil
	}
	appended, ahead := e.rec.CreatedAt, time.Duration(0)
	if appended.IsZero() {
		appended = e.readAt
	}
	if appended.After(e.readAt) {
		appended, ahead = e.readAt, appended.Sub(e.readAt)
	}
	name := spanNameRelay
	if e.route != nil { // else its type may be anything
		name += " " + e.rec.EventType
	}
	l := t.begin(e.rec, name, trace.WithTimestamp(appended))
	if l == nil {
		return nil
	}
	l.task = &e.task
	l.span.SetAttributes(spanLane.String(string(e.lane)))
	if ahead > 0 {
		l.span.SetAttributes(spanAheadMs.Int64(ahead.Milliseconds()))
	}
	l.at = appended
	l.stage(spanNameUnread, e.readAt)
	return l
}

// replay begins the trail of a round of a replay, in the trace of its record.
func (t *tracing) replay(p *replay) *trail {
	if t == nil {
		return nil
	}
	now := t.now()
	letter := spanDeadLetter.String(p.item.ID)
	options := []trace.SpanStartOption{trace.WithTimestamp(now)}
	if buried := spanContextOf(p.item.RelayTraceparent); buried.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: buried, Attributes: []attribute.KeyValue{letter}}))
	}
	l := t.begin(p.rec, spanNameReplay+" "+p.rec.EventType, options...)
	if l == nil {
		return nil
	}
	l.task, l.at = &p.task, now
	l.span.SetAttributes(letter, spanReplay.Int(p.item.Replays+1), spanLane.String(string(p.lane)))
	return l
}

// consumes is a trail's kind: it takes in what another program appended.
var consumes = trace.WithSpanKind(trace.SpanKindConsumer)

// begin begins a span that continues the record's own trace. It returns nil for
// one that is not sampled.
func (t *tracing) begin(rec *contracts.Record, name string, options ...trace.SpanStartOption) *trail {
	ctx, span := t.tracer.Start(t.parent(rec), name, append(options, consumes)...)
	if !span.IsRecording() || !span.SpanContext().IsSampled() {
		return nil
	}
	span.SetAttributes(
		spanEventID.String(rec.EventID), spanEventType.String(rec.EventType), spanTraceID.String(rec.TraceID), spanOutbox.String(rec.Outbox),
		spanRecord.String(rec.ID), spanAggregate.String(rec.AggregateID), spanVersion.Int64(rec.AggregateVersion),
	)
	return &trail{tracer: t.tracer, now: t.now, ctx: ctx, span: span, waiting: spanNameQueued}
}

// parent is the context in which the record's span begins: that of its
// traceparent. One without begins a trace of its own, the same one however
// often it is read; see TracedEvent.
func (t *tracing) parent(rec *contracts.Record) context.Context {
	ctx := context.Background()
	if rec.Traceparent != "" {
		if parent := spanContextOf(rec.Traceparent); parent.IsValid() {
			return trace.ContextWithRemoteSpanContext(ctx, parent)
		}
		t.malformed.WithLabelValues(rec.Outbox).Inc()
	}
	return context.WithValue(ctx, tracedEvent{}, rec.EventID)
}

type tracedEvent struct{}

// TracedEvent is the ID of the event for which a trace begins in ctx, or "". Who
// makes trace IDs of it has all spans of a record in one trace: also those of
// another instance, of a later attempt and of its replays.
func TracedEvent(ctx context.Context) string {
	id, _ := ctx.Value(tracedEvent{}).(string)
	return id
}

// spanContextOf reads a traceparent. What is none gives an invalid context.
func spanContextOf(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), (*carrier)(&traceparent))
	return trace.SpanContextFromContext(ctx)
}

// carrier is a traceparent alone, for OpenTelemetry to read and to write.
type carrier string

func (c *carrier) Get(key string) string {
	if key == contracts.FieldTraceparent {
		return string(*c)
	}
	return ""
}

func (c *carrier) Set(key, value string) {
	if key == contracts.FieldTraceparent {
		*c = carrier(value)
	}
}

func (c *carrier) Keys() []string { return []string{contracts.FieldTraceparent} }
