package sample

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"outboxrelay/relay/postgres"
)

const (
	shops     = 40 // aggregates
	producers = 4  // at the same time
	// rollBackOneOf transactions: a business write that fails after its event was appended.
	rollBackOneOf = 10
)

// Produce appends events of orders, each in a transaction of its own, of which some are rolled back: until so many are
// committed, or until ctx ends where records is 0. perSecond bounds them; 0: nothing does.
func Produce(ctx context.Context, pool *pgxpool.Pool, ledger *Ledger, records int, perSecond float64) error {
	limit := rate.NewLimiter(rate.Inf, 1)
	if perSecond > 0 {
		limit = rate.NewLimiter(rate.Limit(perSecond), 1)
	}
	left := make(chan struct{}, max(records, 1))
	for range records {
		left <- struct{}{}
	}
	g, ctx := errgroup.WithContext(ctx)
	for range producers {
		g.Go(func() error {
			for ctx.Err() == nil {
				if records > 0 {
					select {
					case <-left:
					default:
						return nil
					}
				}
				for done := false; !done && limit.Wait(ctx) == nil; {
					var err error
					if done, err = order(ctx, pool, ledger); err != nil && ctx.Err() == nil {
						return fmt.Errorf("append a sample: %w", err)
					}
				}
			}
			return nil
		})
	}
	return g.Wait()
}

var errRollBack = errors.New("the business write failed")

// order is one transaction. It reports whether it was committed.
func order(ctx context.Context, pool *pgxpool.Pool, ledger *Ledger) (committed bool, err error) {
	shop := uuid.NewMD5(uuid.NameSpaceOID, []byte{byte(rand.IntN(shops))})
	var id uuid.UUID
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var err error
		id, err = postgres.Append(ctx, tx, postgres.Event{
			Type: postgres.OrderCreated, AggregateType: postgres.AggregateStore, AggregateID: shop.String(),
			Data: map[string]any{"total": rand.IntN(10_000)},
		})
		if err == nil && rand.IntN(rollBackOneOf) == 0 {
			return errRollBack
		}
		return err
	})
	switch {
	case errors.Is(err, errRollBack):
		ledger.rollsBack(id)
		return false, nil
	case err != nil:
		return false, err
	}
	ledger.commits()
	return true, nil
}

// Table reads what is committed: the events of each aggregate in their order.
func Table(ctx context.Context, pool *pgxpool.Pool) (map[uuid.UUID][]uuid.UUID, error) {
	rows, err := pool.Query(ctx, `SELECT aggregate_id, id FROM outbox_events ORDER BY created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	table := map[uuid.UUID][]uuid.UUID{}
	var aggregate, id uuid.UUID
	if _, err := pgx.ForEachRow(rows, []any{&aggregate, &id}, func() error {
		table[aggregate] = append(table[aggregate], id)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	return table, nil
}
