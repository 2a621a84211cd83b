package main

import (
	"context"
	"time"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/contracts"
)

// measureSteady measures the lag of each lane at a rate that leaves room.
func measureSteady(ctx context.Context, b *bench, who table.Side) (table.Readings, error) {
	scale := b.opts.scale
	return b.onStage(ctx, func(s *stage) (table.Readings, error) {
		book := newBook()
		consumer, err := s.subscribe(ctx, book, s.topicsOf(contracts.Lanes()...))
		if err != nil {
			return nil, err
		}
		r, err := b.warm(ctx, s, who)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		load := load{rate: scale.steadyRate, group: 1, book: book}
		err = s.appendPaced(ctx, load, scale.steadyFor)
		if err == nil {
			err = s.awaitDelivered(ctx, r, scale.warmup+len(book.records))
		}
		if err != nil {
			_, stopErr := r.finish()
			return nil, joinFirst(err, stopErr)
		}
		ended := time.Now()
		line, err := r.finish()
		if err != nil {
			return nil, err
		}
		if err := consumer.collect(ctx); err != nil {
			return nil, err
		}
		cpu := line.CPUAt(ended) - line.CPUAt(began)
		out := table.Readings{keySteadyCPU: float64(cpu.Microseconds()) / float64(len(book.records))}
		for _, lane := range contracts.Lanes() {
			lags := book.lags(lane)
			out[keyLag(lane, 50)], out[keyLag(lane, 99)] = lags.quantile(50), lags.quantile(99)
		}
		return out, nil
	})
}

// warm starts a side and has it deliver a first load, which also warms up an
// emulator: its Java is slow at first.
func (b *bench) warm(ctx context.Context, s *stage, who table.Side) (*running, error) {
	if err := s.appendBacklog(ctx, b.opts.scale.warmup, ""); err != nil {
		return nil, err
	}
	r, err := b.start(s, who)
	if err != nil {
		return nil, err
	}
	if err := s.awaitDelivered(ctx, r, b.opts.scale.warmup); err != nil {
		_, stopErr := r.finish()
		return nil, joinFirst(err, stopErr)
	}
	return r, nil
}
