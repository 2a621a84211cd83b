package main

import (
	"context"
	"fmt"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/deploy/local/rig"
)

// measureRSS compares the memory of a side in front of backlogs of three sizes.
// The small one fits into memory as a whole; between the others only what is
// not bounded can grow. A side need not drain the large one: what it would keep
// of it, it reads in the first seconds. Each backlog gets a fresh process, so
// that its peak is that of the backlog.
func measureRSS(ctx context.Context, b *bench, who table.Side) (table.Readings, error) {
	scale := b.opts.scale
	small, _, err := b.watchMemory(ctx, who, scale.rssSmall)
	if err != nil {
		return nil, err
	}
	middle, _, err := b.watchMemory(ctx, who, scale.rssMiddle)
	if err != nil {
		return nil, err
	}
	large, largeMedian, err := b.watchMemory(ctx, who, scale.rssLarge)
	if err != nil {
		return nil, err
	}
	return table.Readings{
		keyRSSSmall: small, keyRSSMiddle: middle, keyRSSLarge: large, keyRSSLargeMedian: largeMedian,
		keyRSSGrowth: large / small, keyRSSGrowthMiddle: large / middle,
	}, nil
}

// watchMemory returns the peak and the median of what was resident, in MiB.
func (b *bench) watchMemory(ctx context.Context, who table.Side, backlog int) (peak, median float64, err error) {
	_, err = b.onStage(ctx, func(s *stage) (table.Readings, error) {
		if err := s.appendBacklog(ctx, backlog, ""); err != nil {
			return nil, err
		}
		r, err := b.start(s, who)
		if err != nil {
			return nil, err
		}
		if err := s.awaitDelivered(ctx, r, 1); err != nil {
			_, stopErr := r.finish()
			return nil, joinFirst(err, stopErr)
		}
		rig.Sleep(ctx, b.opts.scale.rssFor)
		line, err := r.finish()
		if err != nil {
			return nil, err
		}
		peak, median = mebibytes(line.Peak()), mebibytes(line.Median())
		return nil, nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("watch memory at a backlog of %d: %w", backlog, err)
	}
	return peak, median, nil
}
