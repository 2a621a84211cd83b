package review

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/sibling"
)

// Queue is what a Review needs of the dead-letter queue; *dlq.Queue has it.
type Queue interface {
	Waiting(ctx context.Context, state contracts.DeadState) (dlq.StateCount, error)
	Now() time.Time
}

// Review is the sibling that looks after the review queue: it has the replays of
// REVIEW_REQUIRED dead letters that operators ask for carried out, and the bulk
// replays, and measures the whole queue.
type Review struct {
	queue Queue
	parts []sibling.Part
	cfg   Config
}

// New makes a Review, whose Run runs the parts: what carries out the replays that
// operators ask for, and the bulk replays. It does nothing until Run.
func New(q Queue, cfg Config, parts ...sibling.Part) (*Review, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("make review queue: %w", err)
	}
	return &Review{queue: q, parts: parts, cfg: cfg.withDefaults()}, nil
}

// Run works until ctx ends. All that it started has ended then. An error is a
// fault of the program: outages are waited through.
func (r *Review) Run(ctx context.Context) error {
	all := []func(context.Context) error{r.measure}
	for _, p := range r.parts {
		all = append(all, p.Run)
	}
	return sibling.Together(ctx, "review queue", all...)
}

// measure keeps the gauges of the queue until ctx ends. It costs a read for each
// state in which dead letters may wait, and one more where some do.
func (r *Review) measure(ctx context.Context) error {
	for {
		for _, s := range dlq.OpenStates() {
			if err := r.gauge(ctx, s); err != nil && ctx.Err() == nil {
				r.cfg.Log.Warn("measure the dead-letter queue", zap.String("state", string(s.State)), zap.Error(err))
			}
		}
		if !sibling.Rest(ctx, r.cfg.GaugeEvery) {
			return nil
		}
	}
}

func (r *Review) gauge(ctx context.Context, s dlq.OpenState) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	if !r.cfg.Leads() { // the one that does tells
		r.cfg.Metrics.show(s, 0, 0)
		return nil
	}
	waiting, err := r.queue.Waiting(ctx, s.State)
	if err != nil {
		return err
	}
	age := 0.0
	if !waiting.Oldest.IsZero() {
		age = max(0, r.queue.Now().Sub(waiting.Oldest).Seconds())
	}
	r.cfg.Metrics.show(s, waiting.Open, age)
	return nil
}
