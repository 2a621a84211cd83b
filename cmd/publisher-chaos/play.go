package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/rig"
)

const (
	lookEvery   = 200 * time.Millisecond
	sayEvery    = 15 * time.Second
	stuckWithin = 3 * time.Minute // without any progress; what is missing then is lost
	// quiet is how long nothing comes at the end before all is taken to be over.
	quiet = 3 * time.Second
)

// play lets producers append while publishers are killed and Postgres is restarted, waits until all
// is over, and returns what came of it.
func (s *stage) play(ctx context.Context) (*figures, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	reading, ctx := errgroup.WithContext(ctx)
	reading.Go(func() error { return pubsub.Receive(ctx, s.client, subscription, s.arrivals.take) })
	f, err := s.act(ctx)
	stop()
	return f, errors.Join(err, reading.Wait())
}

func (s *stage) act(ctx context.Context) (*figures, error) {
	g, acting := errgroup.WithContext(ctx)
	for range producers {
		g.Go(func() error { return s.supply.produce(acting, s.pool) })
	}
	g.Go(func() error {
		return s.each(acting, s.opts.kills, func(int) error { return s.crew.Kill(acting) })
	})
	g.Go(func() error {
		return s.each(acting, s.opts.restarts, func(n int) error { return s.restartDatabase(acting, n%2 == 0) })
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	s.say("all rows are appended, %d publishers killed, Postgres was restarted %d times; waiting until all is over", s.opts.kills, s.opts.restarts)
	if err := s.awaitEnd(ctx); err != nil {
		return nil, err
	}
	t, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	t.appended = s.supply.appended // nobody appends any more
	f := judge(t, s.arrivals)
	f.kills, f.restarts, f.publishers, f.rolledBack = s.opts.kills, s.opts.restarts, s.opts.publishers, int(s.supply.rolledBack.Load())
	// A kill leaves one round without its mark, a restart that of each publisher.
	f.allowed = batch * (f.kills + f.restarts*f.publishers)
	return f, nil
}

// each does something so many times, evenly among the rows as they arrive.
func (s *stage) each(ctx context.Context, times int, do func(n int) error) error {
	for n := range times {
		for s.arrivals.count() < (n+1)*s.opts.rows/(times+1) {
			if err := s.crew.Ended(); err != nil {
				return err
			}
			if !rig.Sleep(ctx, 10*time.Millisecond) {
				return ctx.Err()
			}
		}
		if err := do(n); err != nil {
			return err
		}
	}
	return nil
}

// awaitEnd waits until all rows have arrived and have their marks and no message comes any more, or nothing moves.
func (s *stage) awaitEnd(ctx context.Context) error {
	var before string
	moved, said := time.Now(), time.Now()
	for {
		if err := s.crew.Ended(); err != nil {
			return err
		}
		var unmarked int
		if err := s.pool.QueryRow(ctx, `SELECT count(*) FROM outbox_events WHERE published_at IS NULL`).Scan(&unmarked); err != nil {
			return fmt.Errorf("count rows: %w", err)
		}
		now := fmt.Sprintf("%d of %d rows have arrived, %d have no mark", s.arrivals.count(), s.opts.rows, unmarked)
		if now != before {
			before, moved = now, time.Now()
		}
		if time.Since(said) > sayEvery {
			said = time.Now()
			s.say("%s", now)
		}
		over := unmarked == 0 && s.arrivals.count() >= s.opts.rows
		if since := time.Since(moved); since > stuckWithin || over && since > quiet {
			return nil
		}
		if !rig.Sleep(ctx, lookEvery) {
			return ctx.Err()
		}
	}
}

// read reads the table.
func (s *stage) read(ctx context.Context) (*truth, error) {
	t := &truth{order: map[string][]string{}}
	rows, err := s.pool.Query(ctx, `SELECT id::text, aggregate_id::text, attempt_count, published_at IS NULL FROM outbox_events ORDER BY created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	var id, aggregate string
	var attempts int
	var unmarked bool
	if _, err := pgx.ForEachRow(rows, []any{&id, &aggregate, &attempts, &unmarked}, func() error {
		t.order[aggregate] = append(t.order[aggregate], id)
		t.attempts += attempts
		if unmarked {
			t.unmarked++
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	return t, nil
}
