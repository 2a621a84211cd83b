package main

import (
	"context"
	"fmt"
	"time"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/child"
	"outboxrelay/deploy/local/rig"
)

// measureStart measures the time from the start of a side's process to the
// publish of a CRITICAL record that waits for it, by the server. The floor dials
// its clients, reads that record and publishes it: what a relay takes beyond that
// is its own. The start before has ended cleanly, so its leases are free. The first
// start is not counted: it makes the lease documents, and warms up the cloud.
func measureStart(ctx context.Context, b *bench, who table.Side) (table.Readings, error) {
	return b.onStage(ctx, func(s *stage) (table.Readings, error) {
		consumer, err := s.subscribe(ctx, newBook(), s.topicsOf(contracts.CriticalLane))
		if err != nil {
			return nil, err
		}
		if err := b.startOnce(ctx, s, who, consumer.book, 1); err != nil {
			return nil, fmt.Errorf("first start: %w", err)
		}
		if err := consumer.collect(ctx); err != nil {
			return nil, err
		}
		consumer.book = newBook()
		for n := range b.opts.scale.starts {
			if err := b.startOnce(ctx, s, who, consumer.book, n+2); err != nil {
				return nil, err
			}
		}
		if err := consumer.collect(ctx); err != nil {
			return nil, err
		}
		return table.Readings{keyStart: consumer.book.lags(contracts.CriticalLane).quantile(50)}, nil
	})
}

// startOnce starts a side in front of a CRITICAL record, and stops it again once
// that is marked, the n-th on the stage. The book has the record from the start of
// the process on.
func (b *bench) startOnce(ctx context.Context, s *stage, who table.Side, book *book, n int) error {
	rec := s.nextRecord(contracts.CriticalLane)
	if _, err := s.commit(ctx, []*contracts.Record{rec}); err != nil {
		return err
	}
	rig.Sleep(ctx, backlogAge)
	spec := b.spec(s, who)
	if who == sideFloor {
		spec.Args = []string{floorCommand, "-catalog", b.catalogPath, "-once", rec.Outbox}
	}
	book.appended(rec.IdempotencyKey, appended{at: time.Now(), lane: rec.Lane, targets: len(s.route(rec).Targets)})
	child, err := child.Start(spec)
	if err != nil {
		return err
	}
	if err := s.awaitDelivered(ctx, &running{Process: child}, n); err != nil {
		return joinFirst(err, child.Stop())
	}
	return child.Stop()
}
