package tracing

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"
	"golang.org/x/time/rate"
)

// Reasons for which spans are lost, as metric labels.
const (
	droppedFull   = "queue_full"
	droppedUnsent = "not_sent"
	droppedStop   = "stop"
)

// dropNotice is how often the log tells of lost spans, however many are.
const dropNotice = time.Minute

// spanOutlet is both ends of the SDK's batches: it lets in no more spans than
// the queue holds, so that the SDK loses none without a word, and counts what
// became of each on the way out. Whatever the collector does, whoever ends a
// span never waits.
type spanOutlet struct {
	sdktrace.SpanProcessor // batches; ends with close
	exporter               sdktrace.SpanExporter
	room                   int64
	inside                 atomic.Int64 // spans in the queue or on their way out
	sent                   prometheus.Counter
	dropped                *prometheus.CounterVec
	lost                   atomic.Int64 // of all reasons
	notices                rate.Sometimes
	log                    *zap.Logger

	cut  context.CancelFunc // ends whatever is being sent
	life context.Context
	done chan struct{} // closed when nothing is sent any more
}

func newSpanOutlet(exporter sdktrace.SpanExporter, room int, reg prometheus.Registerer, log *zap.Logger) *spanOutlet {
	o := &spanOutlet{exporter: exporter, room: int64(room), notices: rate.Sometimes{First: 1, Interval: dropNotice}, log: log, done: make(chan struct{})}
	o.sent, o.dropped = registerSpans(reg)
	o.life, o.cut = context.WithCancel(context.Background())
	o.SpanProcessor = sdktrace.NewBatchSpanProcessor((*spanSender)(o), sdktrace.WithMaxQueueSize(room))
	return o
}

// OnEnd queues a span, or drops it when the queue is full.
func (o *spanOutlet) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if o.inside.Add(1) > o.room {
		o.inside.Add(-1)
		o.drop(droppedFull, 1, nil)
		return
	}
	o.SpanProcessor.OnEnd(s)
}

func (o *spanOutlet) drop(reason string, spans int64, cause error) {
	o.dropped.WithLabelValues(reason).Add(float64(spans))
	lost := o.lost.Add(spans)
	o.notices.Do(func() {
		o.log.Warn("spans are lost; records are delivered all the same", zap.String("reason", reason), zap.Int64("lost", lost), zap.Error(cause))
	})
}

// close sends what is queued, until ctx ends, and counts the rest as lost.
// It is told to the batches themselves: the SDK's provider tells them nothing
// when ctx has ended already.
func (o *spanOutlet) close(ctx context.Context) {
	stop := context.AfterFunc(ctx, o.cut)
	defer stop()
	_ = o.Shutdown(ctx) // what is lost thereby is counted
	<-o.done            // at once when ctx has ended
	o.cut()
	if left := o.inside.Load(); left > 0 {
		o.drop(droppedStop, left, ctx.Err())
	}
}

// spanSender is the outlet as the exporter of its own batches.
type spanSender spanOutlet

// ExportSpans sends a batch. It never fails: the SDK would only print it.
func (s *spanSender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	o := (*spanOutlet)(s)
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(o.life, cancel)()
	defer cancel()
	err := o.exporter.ExportSpans(ctx, spans)
	n := int64(len(spans))
	o.inside.Add(-n)
	switch {
	case err == nil:
		o.sent.Add(float64(n))
	case o.life.Err() != nil:
		o.drop(droppedStop, n, err)
	default:
		o.drop(droppedUnsent, n, err)
	}
	return nil
}

// Shutdown closes the connection: the SDK calls it last.
func (s *spanSender) Shutdown(ctx context.Context) error {
	defer close(s.done)
	return s.exporter.Shutdown(ctx)
}
