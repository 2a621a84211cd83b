package claims

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// traceStep tells of a step that began at start, below the span in ctx. Without
// one, or with one that is not sampled, it does nothing.
func traceStep(ctx context.Context, name string, start time.Time, err error) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return
	}
	_, span := parent.TracerProvider().Tracer("outboxrelay/claims").Start(ctx, "claims "+name, trace.WithTimestamp(start))
	if err != nil {
		span.SetStatus(codes.Error, contracts.CodeOf(err))
	}
	span.End()
}

// traceField joins log lines to the span in ctx.
func traceField(ctx context.Context) zap.Field {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return zap.Skip()
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return zap.String(contracts.FieldTraceparent, carrier[contracts.FieldTraceparent])
}
