package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/time/rate"

	"outboxrelay/deploy/local/rig"
	"outboxrelay/relay/postgres"
)

const (
	aggregates = 500
	producers  = 4
	// together are the events of a transaction at most.
	together = 20
	// rollBackOneOf transactions.
	rollBackOneOf = 20
	tryAgain      = 50 * time.Millisecond
)

// supply is what the producers share.
type supply struct {
	left       atomic.Int64 // rows to append
	rolledBack atomic.Int64
	limit      *rate.Limiter

	mu       sync.Mutex
	appended []string // IDs of events whose transaction was committed
}

func newSupply(rows, perSecond int) *supply {
	s := &supply{limit: rate.NewLimiter(rate.Inf, together)}
	if perSecond > 0 {
		s.limit = rate.NewLimiter(rate.Limit(perSecond), together)
	}
	s.left.Store(int64(rows))
	return s
}

// produce appends until nothing is left. A transaction that fails is tried again under the same IDs, as
// it may have been committed.
func (s *supply) produce(ctx context.Context, pool *pgxpool.Pool) error {
	for {
		want := int64(rand.IntN(together) + 1)
		n := int(min(want, s.left.Add(-want)+want))
		if n <= 0 {
			return nil
		}
		if err := s.limit.WaitN(ctx, n); err != nil {
			return err
		}
		events := make([]postgres.Event, n)
		for i := range events {
			events[i] = event()
		}
		for {
			err := s.order(ctx, pool, events)
			if err == nil {
				break
			}
			if !rig.Sleep(ctx, tryAgain) { // the database is being restarted
				return ctx.Err()
			}
		}
		s.committed(events)
	}
}

// committed notes events.
func (s *supply) committed(events []postgres.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range events {
		s.appended = append(s.appended, events[i].ID.String())
	}
}

func event() postgres.Event {
	return postgres.Event{
		ID: uuid.New(), Type: postgres.OrderCreated, AggregateType: postgres.AggregateVendorOrder,
		AggregateID: uuid.NewMD5(uuid.NameSpaceOID, []byte{byte(rand.IntN(2)), byte(rand.IntN(aggregates / 2))}).String(),
		Data:        map[string]int{"total": rand.IntN(10_000)},
	}
}

var errRollBack = errors.New("the business write failed")

// order commits events, after some transactions that are rolled back.
func (s *supply) order(ctx context.Context, pool *pgxpool.Pool, events []postgres.Event) error {
	for rand.IntN(rollBackOneOf) == 0 {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := postgres.Append(ctx, tx, event()); err != nil {
				return err
			}
			return errRollBack
		})
		if !errors.Is(err, errRollBack) {
			return err
		}
		s.rolledBack.Add(1)
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := postgres.AppendAll(ctx, tx, events...)
		return err
	})
}
