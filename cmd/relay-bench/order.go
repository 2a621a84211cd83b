package main

import (
	"context"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

// measureOrder has a side drain the backlog of a drain once more, with all of
// its messages read, and counts those that came out of order or twice. A drain
// that is timed has no subscriptions: reading takes as much of the machine as
// the side does.
func measureOrder(ctx context.Context, b *bench, who table.Side) (table.Readings, error) {
	n := b.opts.scale.drain
	return b.onStage(ctx, func(s *stage) (table.Readings, error) {
		book, ledger := newBook(), newLedger()
		c, err := s.subscribe(ctx, book, s.topicsOf(contracts.Lanes()...))
		if err != nil {
			return nil, err
		}
		c.ledger = ledger
		recs := s.records.take(n, "")
		for _, rec := range recs {
			ledger.appended(rec)
			book.appended(rec.IdempotencyKey, appended{lane: rec.Lane, targets: len(s.route(rec).Targets)})
		}
		if err := s.appendAll(ctx, recs, backlogCommit); err != nil {
			return nil, err
		}
		rig.Sleep(ctx, backlogAge)
		if err := b.drainRead(ctx, s, who, c, n); err != nil {
			return nil, err
		}
		breaks, duplicates := ledger.judge()
		return table.Readings{keyOrderBreaks: float64(breaks), keyDuplicates: float64(duplicates)}, nil
	})
}

// drainRead returns when the side has delivered n records and ended, and all
// messages are read.
func (b *bench) drainRead(ctx context.Context, s *stage, who table.Side, c *consumer, n int) error {
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	consumed := make(chan error, 1)
	go func() { consumed <- c.run(consuming) }() // ends with stop
	_, err := b.drain(ctx, s, who, n)
	stop()
	if readErr := <-consumed; err == nil {
		err = readErr
	}
	if err != nil {
		return err
	}
	if err := c.collect(ctx); err != nil {
		return err
	}
	return c.exhaust(ctx)
}
