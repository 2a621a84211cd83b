package postgres

import (
	"context"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"outboxrelay/cmd/relay-bench/table"
)

// aggregates share the rows of a drain.
const aggregates = 500

// drain has so many processes of a side publish what was there before they started.
func (b *bench) drain(ctx context.Context, who table.Side, processes int) (table.Readings, error) {
	return b.onStage(ctx, who, func(ctx context.Context, s *stage) (table.Readings, error) {
		t, used, err := s.drained(ctx, b.opts.Scale.Drain, processes, func(number int) int { return number % aggregates })
		if err != nil {
			return nil, err
		}
		k := keysOfDrain(processes)
		return table.Readings{k.rate: t.rate(), k.cpu: used.perRecord(t), k.breaks: float64(t.breaks), k.twice: float64(t.twice)}, nil
	})
}

// leader is the aggregate whose rows come first.
const leader = aggregates

// lead has one process publish rows of one aggregate, and as many of others behind them.
func (b *bench) lead(ctx context.Context, who table.Side) (table.Readings, error) {
	return b.onStage(ctx, who, func(ctx context.Context, s *stage) (table.Readings, error) {
		n := b.opts.Scale.Lead
		t, _, err := s.drained(ctx, 2*n, 1, func(number int) int {
			if number < n {
				return leader
			}
			return number % aggregates
		})
		if err != nil {
			return nil, err
		}
		others := slices.IndexFunc(t.firsts, func(a arrival) bool { return a.Aggregate != leader })
		waited := t.firsts[others].at.Sub(t.firsts[0].at)
		return table.Readings{
			keyLeadRate: t.rate(), keyLeadOthers: milliseconds(waited), keyLeadBreaks: float64(t.breaks), keyLeadTwice: float64(t.twice),
		}, nil
	})
}

// drained appends n rows, has them published by so many processes, and returns what arrived.
func (s *stage) drained(ctx context.Context, n, processes int, aggregate func(number int) int) (tally, spent, error) {
	if err := s.fill(ctx, n, aggregate); err != nil {
		return tally{}, nil, err
	}
	crew, err := s.start(processes)
	if err != nil {
		return tally{}, nil, err
	}
	return s.finished(ctx, crew, n)
}

// warmth are rows published before a latency is measured.
const warmth = 200

// latency measures how long after the commit a row of a steady stream is published.
func (b *bench) latency(ctx context.Context, who table.Side) (table.Readings, error) {
	return b.onStage(ctx, who, func(ctx context.Context, s *stage) (table.Readings, error) {
		each := func(number int) int { return number % aggregates }
		crew, err := s.start(1)
		if err != nil {
			return nil, err
		}
		n := warmth + int(float64(b.opts.Scale.Rate)*b.opts.Scale.For.Seconds())
		committed := make([]time.Time, n)
		limit := rate.NewLimiter(rate.Limit(b.opts.Scale.Rate), 1)
		err = s.fill(ctx, warmth, each)
		if err == nil {
			err = s.await(ctx, crew, warmth)
		}
		for number := warmth; number < n && err == nil; number++ {
			if err = limit.Wait(ctx); err == nil {
				committed[number], err = s.append(ctx, number, 1, each)
			}
		}
		if err != nil {
			return nil, crew.stop(err)
		}
		t, used, err := s.finished(ctx, crew, n)
		if err != nil {
			return nil, err
		}
		t.firsts = slices.DeleteFunc(t.firsts, func(a arrival) bool { return a.Number < warmth })
		lags := make([]float64, len(t.firsts))
		for i, a := range t.firsts {
			lags[i] = milliseconds(a.at.Sub(committed[a.Number]))
		}
		slices.Sort(lags)
		return table.Readings{
			keyLatency50: quantile(lags, 50), keyLatency99: quantile(lags, 99), keyLatencyCPU: used.perRecord(t),
		}, nil
	})
}

// quantile is that of sorted values.
func quantile(sorted []float64, percent int) float64 { return sorted[(len(sorted)-1)*percent/100] }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
