package publisher

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"
)

const (
	// countEvery is how often the waiting rows are counted, for the metrics, and the optional index is looked for.
	countEvery = 15 * time.Second
	// countMost bounds what that costs.
	countMost = 100_000
)

// survey looks for the optional index, which somebody may make or drop meanwhile, and sets the gauges.
func (p *Publisher) survey(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	p.lookForIndex(ctx)
	if err := p.countOnce(ctx); err != nil && ctx.Err() == nil {
		p.opts.Log.Debug("waiting rows not counted", zap.Error(err))
	}
}

// surveys makes one now and then, until ctx ends.
func (p *Publisher) surveys(ctx context.Context) {
	ticker := time.NewTicker(countEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.survey(ctx)
		}
	}
}

// countSQL counts the oldest rows that wait ($2), and those of them that were tried so often ($1), and tells how
// long the oldest other one with a time has waited, in seconds.
const countSQL = `
SELECT count(*), count(*) FILTER (WHERE attempt_count >= $1),
	coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(created_at) FILTER (WHERE attempt_count < $1 AND ` + timedSQL + `))), 0)::float8
FROM (SELECT attempt_count, created_at FROM outbox_events WHERE published_at IS NULL ORDER BY created_at, id LIMIT $2) AS waiting`

func (p *Publisher) countOnce(ctx context.Context) error {
	tx, err := begin(ctx, p.opts.Pool, countMost, p.indexed.Load()) // which reads the index in its order, and sorts nothing
	if err != nil {
		return fmt.Errorf("count waiting rows: %w", err)
	}
	defer tx.end(ctx)
	var pending, parked int
	var oldest float64
	if err := tx.QueryRow(ctx, countSQL, p.opts.MaxAttempts, countMost).Scan(&pending, &parked, &oldest); err != nil {
		return fmt.Errorf("count waiting rows: %w", err)
	}
	p.metrics.pending.Set(float64(pending))
	p.metrics.parked.Set(float64(parked))
	p.due.Store(int64(pending - parked))
	p.metrics.oldest.Set(oldest)
	return nil
}
