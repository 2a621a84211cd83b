package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/contracts"
)

// floodGroup is how many records of the flood one commit appends: each commit
// costs the cloud more than the record, and the flood is not to be the cloud's.
const floodGroup = 50

// measureFlood measures CRITICAL lag alone, and then under a BACKGROUND backlog
// that goes on growing. Both happen on one cloud that has drained as much before,
// so that it is as warm in the one as in the other.
func measureFlood(ctx context.Context, b *bench, who table.Side) (table.Readings, error) {
	backlog := b.opts.scale.floodBacklog
	return b.onStage(ctx, func(s *stage) (table.Readings, error) {
		topics := append(s.topicsOf(contracts.CriticalLane), controlTopic)
		consumer, err := s.subscribe(ctx, newBook(), topics)
		if err != nil {
			return nil, err
		}
		f := &floodRun{bench: b, stage: s, who: who, consumer: consumer}
		if err := s.appendBacklog(ctx, backlog, contracts.BackgroundLane); err != nil {
			return nil, err
		}
		alone, err := f.phase(ctx, backlog, nil)
		if err != nil {
			return nil, fmt.Errorf("alone: %w", err)
		}
		before, err := s.countDelivered(ctx)
		if err != nil {
			return nil, err
		}
		if err := s.appendBacklog(ctx, backlog, contracts.BackgroundLane); err != nil {
			return nil, err
		}
		flooded, err := f.phase(ctx, before+1, &load{lane: contracts.BackgroundLane, rate: b.opts.scale.floodRate, group: floodGroup})
		if err != nil {
			return nil, fmt.Errorf("flooded: %w", err)
		}
		out := table.Readings{}
		critical, control := contracts.CriticalLane, controlLane
		out[keyAlone50], out[keyAlone99] = alone.lags(critical).quantile(50), alone.lags(critical).quantile(99)
		out[keyFlood50], out[keyFlood99] = flooded.lags(critical).quantile(50), flooded.lags(critical).quantile(99)
		out[keyControlAlone99], out[keyControlFlood99] = alone.lags(control).quantile(99), flooded.lags(control).quantile(99)
		out[keyFloodGrowth] = out[keyFlood99] / out[keyAlone99]
		out[keyFloodControl] = out[keyFlood99] / out[keyControlFlood99]
		out[keyControlGrowth] = out[keyControlFlood99] / out[keyControlAlone99]
		return out, nil
	})
}

// floodRun is one side's turn.
type floodRun struct {
	bench    *bench
	stage    *stage
	who      table.Side
	consumer *consumer
}

// phase starts the side anew, waits until `delivered` records are, and then
// measures CRITICAL and the control, with the flood beside them; nil for none.
func (f *floodRun) phase(ctx context.Context, delivered int, flood *load) (*book, error) {
	scale := f.bench.opts.scale
	book := newBook()
	f.consumer.book = book
	r, err := f.bench.start(f.stage, f.who)
	if err != nil {
		return nil, err
	}
	err = f.stage.awaitDelivered(ctx, r, delivered)
	if err == nil {
		err = f.traffic(ctx, book, flood)
	}
	if err == nil {
		err = f.consumer.collect(ctx)
	}
	_, stopErr := r.finish()
	if err != nil {
		return nil, joinFirst(err, stopErr)
	}
	if n := book.lags(contracts.CriticalLane).count(); n < int64(scale.criticalRate) {
		return nil, fmt.Errorf("only %d CRITICAL records were measured", n)
	}
	return book, stopErr
}

func (f *floodRun) traffic(ctx context.Context, book *book, flood *load) error {
	scale := f.bench.opts.scale
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	consumed := make(chan error, 1)
	go func() { consumed <- f.consumer.run(consuming) }() // ends with stop

	collection := "benchControlAlone"
	g, work := errgroup.WithContext(ctx)
	if flood != nil {
		collection = "benchControlFlood"
		g.Go(func() error { return f.stage.appendPaced(work, *flood, scale.floodFor) })
	}
	g.Go(func() error {
		critical := load{lane: contracts.CriticalLane, rate: scale.criticalRate, group: 1, book: book}
		return f.stage.appendPaced(work, critical, scale.floodFor)
	})
	g.Go(func() error { return f.stage.control(work, collection, book, scale.criticalRate, scale.floodFor) })
	err := g.Wait()
	stop()
	return errors.Join(err, <-consumed)
}
