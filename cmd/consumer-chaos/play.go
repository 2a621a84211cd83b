package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

const (
	lookEvery   = 500 * time.Millisecond
	sayEvery    = 15 * time.Second
	stuckWithin = 5 * time.Minute // without any progress; what is missing then is lost. Google's Pub/Sub pauses for a minute after kills
)

// play lets producers append while relays and consumers are killed, waits until all is over, and
// returns what came of it.
func (s *stage) play(ctx context.Context) (*figures, error) {
	g, playing := errgroup.WithContext(ctx)
	for _, p := range s.producers() {
		g.Go(func() error { return p.run(playing) })
	}
	g.Go(func() error { return s.killAll(playing) })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	s.say("%d events are appended and %d relays and as many consumers killed; waiting until all is over", s.truth.count(), s.opts.kills)
	if err := s.awaitEnd(ctx); err != nil {
		return nil, err
	}
	return s.read(ctx)
}

// killAll kills relays and consumers while the events are appended, evenly among these.
func (s *stage) killAll(ctx context.Context) error {
	for k := range s.opts.kills {
		for s.truth.count() < (k+1)*s.opts.events/(s.opts.kills+1) {
			if !rig.Sleep(ctx, 10*time.Millisecond) {
				return ctx.Err()
			}
		}
		e := s.ends[k%len(s.ends)]
		g, killing := errgroup.WithContext(ctx)
		g.Go(func() error { return s.relays.Kill(killing) })
		g.Go(func() error { return s.consumers[e].Kill(killing) })
		if err := g.Wait(); err != nil {
			return err
		}
		if (k+1)%10 == 0 {
			s.say("%d of %d kills of each; %d events are appended", k+1, s.opts.kills, s.truth.count())
		}
	}
	return nil
}

// awaitEnd waits until all events are delivered and have their effects and no message comes any
// more, or nothing moves.
func (s *stage) awaitEnd(ctx context.Context) error {
	var before string
	moved, said := time.Now(), time.Now()
	for {
		if err := s.ended(); err != nil {
			return err
		}
		delivered, effects, arrivals, err := s.progressed(ctx)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		now := fmt.Sprintf("%d of %d records delivered, %d of %d effects, %d messages", delivered, s.truth.count(), effects, len(s.truth.wanted), arrivals)
		if err == nil && now != before {
			before, moved = now, time.Now()
		}
		if time.Since(said) > sayEvery {
			said = time.Now()
			s.say("%s", now)
		}
		quiet := time.Since(moved)
		over := delivered >= s.truth.count() && effects >= len(s.truth.wanted)
		if quiet > stuckWithin || over && quiet > s.opts.quiet() {
			return nil
		}
		if !over {
			if err := s.standstill.ends(ctx, s, moved); err != nil {
				return err
			}
		}
		if !rig.Sleep(ctx, lookEvery) {
			return ctx.Err()
		}
	}
}

// ended is why processes ended that nobody killed.
func (s *stage) ended() error {
	errs := []error{s.relays.Ended()}
	for _, e := range slices.Sorted(maps.Keys(s.consumers)) {
		errs = append(errs, s.consumers[e].Ended())
	}
	return errors.Join(errs...)
}

// progressed counts.
func (s *stage) progressed(ctx context.Context) (delivered, effects, arrivals int, err error) {
	for _, o := range s.catalog.Outboxes {
		n, err := count(ctx, s.clients.Docs.Collection(o.Name).Where(contracts.FieldStatus, "==", string(contracts.Delivered)))
		if err != nil {
			return 0, 0, 0, err
		}
		delivered += n
	}
	if effects, err = count(ctx, s.clients.Docs.Collection(effectsCollection).Query); err != nil {
		return 0, 0, 0, err
	}
	if s.pool != nil {
		var n int
		if err := s.pool.QueryRow(ctx, `SELECT count(*) FROM effects`).Scan(&n); err != nil {
			return 0, 0, 0, fmt.Errorf("count effects in Postgres: %w", err)
		}
		effects += n
	}
	n, err := readJournals(s.journals())
	return delivered, effects + len(n.effects), len(n.arrivals), err
}

func count(ctx context.Context, q firestore.Query) (int, error) {
	result, err := q.NewAggregationQuery().WithCount("n").Get(ctx)
	if err != nil {
		return 0, fmt.Errorf("count in Firestore: %w", err)
	}
	value, ok := result["n"].(*firestorepb.Value)
	if !ok {
		return 0, fmt.Errorf("count in Firestore: the answer is a %T", result["n"])
	}
	return int(value.GetIntegerValue()), nil
}

// read reads what came of it.
func (s *stage) read(ctx context.Context) (*figures, error) {
	n, err := readJournals(s.journals())
	if err != nil {
		return nil, err
	}
	docs, err := s.clients.Docs.Collection(effectsCollection).Documents(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("read effects in Firestore: %w", err)
	}
	for _, doc := range docs {
		var e effect
		if err := doc.DataTo(&e); err != nil {
			return nil, fmt.Errorf("read effects in Firestore: %w", err)
		}
		n.effects = append(n.effects, e)
	}
	if s.pool != nil {
		rows, err := s.pool.Query(ctx, `SELECT consumer, event_id, aggregate, version, at FROM effects`)
		if err != nil {
			return nil, fmt.Errorf("read effects in Postgres: %w", err)
		}
		more, err := pgx.CollectRows(rows, pgx.RowToStructByPos[effect])
		if err != nil {
			return nil, fmt.Errorf("read effects in Postgres: %w", err)
		}
		n.effects = append(n.effects, more...)
	}
	f := judge(s.truth.wanted, s.dealt, s.ordered, n)
	for e, c := range s.consumers {
		f.of(e).kills = c.Killed()
	}
	f.cloud, f.events, f.relayKills, f.redis = s.opts.cloud, s.truth.count(), s.relays.Killed(), s.redis != ""
	if f.undelivered, _, _, err = s.progressed(ctx); err != nil {
		return nil, err
	}
	f.undelivered = f.events - f.undelivered
	f.standstills = s.standstill.times
	f.deadLetters, err = count(ctx, s.clients.Docs.Collection(contracts.CollectionDeadLetters).Query)
	return f, err
}
