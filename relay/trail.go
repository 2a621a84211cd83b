package relay

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/ier"
	"outboxrelay/lanes"
)

// trail is the trace of one stay of a record in memory, or of one round of a
// replay: a span for all of it, and below it one for each stage, which follow
// each other without a gap. Only the writing of a retry is beside them, as the
// record waits meanwhile.
//
// A nil trail, of a record that is not traced, does nothing. Fields below the
// line belong to whoever has the record at the time.
type trail struct {
	tracer trace.Tracer
	ctx    context.Context // of span
	span   trace.Span
	task   *lanes.Task // its times in the lane
	now    func() time.Time

	at        time.Time  // where the next stage begins
	waiting   string     // the name of that stage, if it is not a delivery
	waitsOn   string     // what it waits for, see lanes.Verdict
	delivered bool       // the last stage was a delivery
	round     trace.Span // of the delivery under way
	roundAt   time.Time
	queued    time.Duration // told so far
	backedOff time.Duration // told so far
}

// Names of a trail's spans.
const (
	spanNameRelay   = "relay"
	spanNameReplay  = "replay"
	spanNameUnread  = "wait in Firestore"
	spanNameQueued  = "wait in lane"
	spanNameBackoff = "wait for retry"
	spanNameDeliver = "deliver"
	spanNameSettle  = "settle"
)

// Outcomes of a trail beside the kinds of settlements and the outcomes of
// replays.
const (
	outcomeLeft      = "left"      // out of memory, to be read again
	outcomeElsewhere = "elsewhere" // somebody else settled it
)

// stage tells of what went on since the last one ended.
func (t *trail) stage(name string, end time.Time, attributes ...attribute.KeyValue) {
	t.child(name, t.at, end, attributes...)
	t.at = end
}

func (t *trail) child(name string, begin, end time.Time, attributes ...attribute.KeyValue) {
	t.open(name, begin, attributes...).End(trace.WithTimestamp(end))
}

// open begins a child, for its caller to end.
func (t *trail) open(name string, begin time.Time, attributes ...attribute.KeyValue) trace.Span {
	_, span := t.tracer.Start(t.ctx, name, trace.WithTimestamp(begin), trace.WithAttributes(attributes...)) //nolint:spancheck // its caller ends it
	return span                                                                                             //nolint:spancheck // its caller ends it
}

// waited tells of a wait that ended.
func (t *trail) waited(end time.Time) {
	queued, backedOff := t.task.Waited(), t.task.BackedOff()
	attributes := []attribute.KeyValue{
		spanQueuedMs.Int64((queued - t.queued).Milliseconds()), spanBackedOffMs.Int64((backedOff - t.backedOff).Milliseconds()),
	}
	if t.waitsOn != "" {
		attributes = append(attributes, spanWaitsOn.String(t.waitsOn))
	}
	t.stage(t.waiting, end, attributes...)
	t.queued, t.backedOff = queued, backedOff
}

// begin begins a round of delivery. A round in which nothing was attempted is
// never told of: the wait goes on.
func (t *trail) begin(job *ier.Job) {
	if t == nil {
		return
	}
	t.roundAt = t.now()
	t.round = t.open(spanNameDeliver, t.roundAt, spanAttempt.Int(job.Attempt))
	job.Span = t.round
}

// conclude ends the round.
func (t *trail) conclude(out ier.Outcome) {
	if t == nil || len(out.Acked)+len(out.Failed) == 0 {
		return
	}
	t.waited(t.roundAt)
	for _, f := range out.Failed {
		t.round.SetStatus(codes.Error, f.Code)
		t.span.AddEvent("attempt failed", trace.WithTimestamp(f.At), trace.WithAttributes(
			spanTarget.String(f.Target), spanCode.String(f.Code), spanKind.String(f.Kind.String())))
	}
	t.at, t.delivered = t.now(), true
	t.round.End(trace.WithTimestamp(t.at))
}

// waits takes in what a lane does with the record after its turn.
func (t *trail) waits(v lanes.Verdict) {
	if t == nil {
		return
	}
	switch v.Action {
	case lanes.Retry:
		if t.delivered {
			t.waiting = spanNameBackoff
		}
		t.waitsOn, t.delivered = v.On, false
	case lanes.Again:
		t.waiting, t.waitsOn, t.delivered = spanNameQueued, "", false
	}
}

// refuse tells of what breaks the contract: it is not delivered at all.
func (t *trail) refuse(faults contracts.Faults) {
	if t == nil {
		return
	}
	for _, f := range faults {
		t.span.AddEvent("contract violation", trace.WithAttributes(attribute.String("outbox_relay.field", f.Field)))
	}
	t.delivered = true // there is no wait to tell of
}

// die tells of a dead letter, and has it remember this span for its replays.
func (t *trail) die(i *dlq.Item) {
	if t == nil {
		return
	}
	i.RelayTraceparent = t.traceparent()
	t.span.AddEvent("dead-lettered", trace.WithTimestamp(i.DeadAt), trace.WithAttributes(
		spanDeadLetter.String(i.ID), spanTier.String(string(i.Tier)), spanReason.String(string(i.Reason))))
	t.span.SetStatus(codes.Error, string(i.Reason))
}

// settle notes when the settlement's own stage began.
func (t *trail) settle(st *settlement) {
	if t == nil {
		return
	}
	if !t.delivered {
		t.waited(st.at)
	}
	st.since = t.at
}

// settled tells of a settlement that was written. All but a retry are the end.
func (t *trail) settled(st *settlement) {
	if t == nil {
		return
	}
	now := t.now()
	t.child(spanNameSettle, st.since, now, spanSettlement.String(string(st.kind)))
	switch st.kind {
	case settleRetry:
		t.span.AddEvent("retry", trace.WithTimestamp(now), trace.WithAttributes(
			spanAttempt.Int(st.failed.attempts), attribute.String("outbox_relay.next_attempt_at", st.failed.next.UTC().Format(time.RFC3339Nano))))
	case settleProgress:
		t.endAt(outcomeLeft, now)
	default:
		t.endAt(string(st.kind), now)
	}
}

// end ends the trail. Only the first call counts.
func (t *trail) end(outcome string) {
	if t != nil {
		t.endAt(outcome, t.now())
	}
}

func (t *trail) endAt(outcome string, now time.Time) {
	t.span.SetAttributes(spanOutcome.String(outcome))
	t.span.End(trace.WithTimestamp(now))
}

// traceparent names the trail's span.
func (t *trail) traceparent() string {
	var c carrier
	propagation.TraceContext{}.Inject(t.ctx, &c)
	return string(c)
}

// field joins a log line to the trail.
func (t *trail) field() zap.Field {
	if t == nil {
		return zap.Skip()
	}
	return zap.String(contracts.FieldTraceparent, t.traceparent())
}

// trailOf is the trail of what a lane has.
func trailOf(t *lanes.Task) *trail {
	switch w := t.Work.(type) {
	case *entry:
		return w.trail
	case *replay:
		return w.trail
	}
	return nil
}
