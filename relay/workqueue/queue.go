package workqueue

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
)

// Queue is one instance's end of a queue. It is made by New and run once.
type Queue struct {
	vocabulary Vocabulary
	client     *firestore.Client
	handler    Handler
	instance   string
	tuning     Tuning
	metrics    *queueMetrics
	tracer     trace.Tracer
	log        *zap.Logger
	watch      *listener

	mu        sync.Mutex
	line      *line
	lastRound RoundHealth

	bell     chan struct{} // a token when the line changed
	hunger   chan struct{} // a token when a round may be wanted, or may go on
	claims   atomic.Int64  // for tokens
	raceLost atomic.Int64  // when, in Unix nanoseconds
	stopping atomic.Bool
	stopped  context.Context // ends when a stop waits for nothing more
}

// New checks cfg and returns its queue, which does nothing until Run.
func New(cfg Config) (*Queue, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Metrics == nil {
		cfg.Metrics = newMetrics(nil)
	}
	v := cfg.Vocabulary
	tuning := cfg.Tuning.withDefaults()
	q := &Queue{
		vocabulary: v, client: cfg.Client, handler: cfg.Handler, tuning: tuning, tracer: cfg.Tracer,
		instance: cmp.Or(cfg.WorkerPrefix, v.Queue) + "-" + uuid.NewString()[:8],
		metrics:  cfg.Metrics.queue(&v), log: cmp.Or(cfg.Log, zap.NewNop()).Named(v.Queue),
		line: newLine(tuning.Batch, 2*tuning.Every), bell: make(chan struct{}, 1), hunger: make(chan struct{}, 1),
	}
	q.watch = &listener{q: q}
	return q, nil
}

// writeGrace is how long a stop's last writes may take after its handlers' end.
const writeGrace = 2 * time.Second

// Run works until ctx ends: then it claims nothing more, waits for the handlers for
// Tuning.StopBudget, ends their contexts, and gives back what they did not end. What a
// handler that does not heed its context has is left to its lease, writeGrace later. It
// returns nil after such a stop.
func (q *Queue) Run(ctx context.Context) error {
	background := context.WithoutCancel(ctx)
	handling, endHandling := context.WithCancelCause(background)
	defer endHandling(nil)
	stopped, endWrites := context.WithCancel(background)
	defer endWrites()
	q.stopped = stopped

	var finding, working sync.WaitGroup
	finding.Go(func() { q.watch.run(ctx) })
	finding.Go(func() { q.rounds(ctx) })
	q.dispatch(ctx, handling, &working)
	q.stopping.Store(true)
	patience := time.AfterFunc(q.tuning.StopBudget, func() { endHandling(errStopped) })
	defer patience.Stop()
	grace := time.AfterFunc(q.tuning.StopBudget+writeGrace, endWrites)
	defer grace.Stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		finding.Wait()
		working.Wait()
	}()
	select {
	case <-ended:
	case <-stopped.Done(): // whoever stops the instance has promised when it is over
		q.log.Warn("stopped without waiting longer for handlers: what they have is left to its lease")
	}
	return nil
}

// dispatch gives documents to workers, until ctx ends.
func (q *Queue) dispatch(ctx, handling context.Context, working *sync.WaitGroup) {
	slots := make(chan struct{}, q.tuning.Workers)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		it := q.await(ctx)
		if it == nil {
			return
		}
		working.Go(func() {
			defer func() { <-slots }()
			q.work(handling, it)
		})
	}
}

// await waits for the document whose turn it is; nil: ctx ended.
func (q *Queue) await(ctx context.Context) *item {
	for ctx.Err() == nil {
		q.mu.Lock()
		it, wait := q.line.next(time.Now())
		q.metrics.waiting.Set(float64(q.line.ready))
		wanted := q.line.hungry() || q.line.resumes()
		q.mu.Unlock()
		if wanted {
			ring(q.hunger)
		}
		if it != nil {
			return it
		}
		q.pause(ctx, wait)
	}
	return nil
}

// pause waits until the line changed, or for d; 0: for no time of its own.
func (q *Queue) pause(ctx context.Context, d time.Duration) {
	var due <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-q.bell:
	case <-due:
	case <-ctx.Done():
	}
}

// wake has the line looked at.
func (q *Queue) wake() { ring(q.bell) }

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// settling is a context for the last write of a claim: it outlives the handler's, and
// ends with a stop's grace.
func (q *Queue) settling(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(q.stopped, cancel)
	return ctx, func() { unhook(); cancel() }
}
