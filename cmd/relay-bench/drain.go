package main

import (
	"context"
	"fmt"
	"time"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/cmd/relay-bench/usage"
)

func measureDrain(ctx context.Context, b *bench, who table.Side) (table.Readings, error) {
	return b.drainOnce(ctx, who, b.opts.scale.drain)
}

// drainOnce has a side drain a backlog that was there before it started.
func (b *bench) drainOnce(ctx context.Context, who table.Side, n int) (table.Readings, error) {
	return b.onStage(ctx, func(s *stage) (table.Readings, error) {
		if err := s.appendBacklog(ctx, n, ""); err != nil {
			return nil, err
		}
		began := time.Now()
		line, err := b.drain(ctx, s, who, n)
		if err != nil {
			return nil, err
		}
		times, err := s.deliveryTimes(ctx)
		if err != nil {
			return nil, err
		}
		return drained(times, line, began), nil
	})
}

// drain has a side at work until n records are delivered.
func (b *bench) drain(ctx context.Context, s *stage, who table.Side, n int) (usage.Timeline, error) {
	r, err := b.start(s, who)
	if err != nil {
		return nil, err
	}
	if err := s.awaitDelivered(ctx, r, n); err != nil {
		_, stopErr := r.finish()
		return nil, joinFirst(err, stopErr)
	}
	return r.finish()
}

// drained is what a drain comes to. It is timed from the start of the process to
// the server's time of the last mark. The first mark would be no fair beginning:
// what a side has read and published before it, thousands of records with large
// windows, would count as done in no time.
func drained(times []time.Time, line usage.Timeline, began time.Time) table.Readings {
	first, last, n := times[0], times[len(times)-1], float64(len(times))
	return table.Readings{
		keyDrainRate:  n / last.Sub(began).Seconds(),
		keyDrainCPU:   float64(line.CPUAt(last).Microseconds()) / n,
		keyDrainPeak:  mebibytes(line.Peak()),
		keyDrainStart: float64(first.Sub(began).Milliseconds()),
	}
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// joinFirst adds to a failure what went wrong while it was cleaned up.
func joinFirst(err, cleanup error) error {
	if cleanup == nil {
		return err
	}
	return fmt.Errorf("%w (then: %w)", err, cleanup)
}
