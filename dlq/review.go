package dlq

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Review is the sibling that looks after the review queue: it carries out the
// replays of REVIEW_REQUIRED dead letters that operators ask for, runs the bulk
// replays, and measures the whole queue.
type Review struct {
	executor *executor
	bulks    *bulkRunner
	queue    *Queue
	cfg      SiblingConfig
}

// NewReview makes a Review. It does nothing until Run.
func NewReview(q *Queue, lanes Lanes, cfg SiblingConfig) (*Review, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("make review queue: %w", err)
	}
	cfg = cfg.withDefaults()
	return &Review{
		executor: newExecutor(q, lanes, contracts.ReviewRequired, nil, cfg), bulks: newBulkRunner(q, cfg), queue: q, cfg: cfg,
	}, nil
}

// Run works until ctx ends. All that it started has ended then. An error is a
// fault of the program: outages are waited through.
func (r *Review) Run(ctx context.Context) error {
	return together(ctx, "review queue", append(r.executor.parts(), r.bulks.run, r.measure)...)
}

// measure keeps the gauges of the queue until ctx ends. It costs two reads for
// each state in which dead letters wait.
func (r *Review) measure(ctx context.Context) error {
	for {
		for _, s := range openStates() {
			if err := r.gauge(ctx, s); err != nil && ctx.Err() == nil {
				r.cfg.Log.Warn("measure the dead-letter queue", zap.String("state", string(s.state)), zap.Error(err))
			}
		}
		if !rest(ctx, r.cfg.GaugeEvery) {
			return nil
		}
	}
}

func (r *Review) gauge(ctx context.Context, s openState) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	if !r.cfg.Leads() { // the one that does tells
		r.cfg.Metrics.items.WithLabelValues(string(s.tier), string(s.state)).Set(0)
		r.cfg.Metrics.oldest.WithLabelValues(string(s.tier), string(s.state)).Set(0)
		return nil
	}
	query := Query{Collection: contracts.CollectionDeadLetters, Where: []Where{{contracts.DeadFieldState, "==", string(s.state)}}}
	n, err := r.queue.store.Count(ctx, query)
	if err != nil {
		return err
	}
	r.cfg.Metrics.items.WithLabelValues(string(s.tier), string(s.state)).Set(float64(n))
	query.OrderBy, query.Select, query.Limit = oldestDead, []string{contracts.DeadFieldDeadAt}, 1
	docs, err := r.queue.store.Query(ctx, query)
	if err != nil {
		return err
	}
	age := 0.0
	if len(docs) > 0 {
		age = max(0, r.queue.now().Sub(DecodeItem(docs[0]).DeadAt).Seconds())
	}
	r.cfg.Metrics.oldest.WithLabelValues(string(s.tier), string(s.state)).Set(age)
	return nil
}
