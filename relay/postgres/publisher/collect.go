package publisher

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// beginCollectSQL is for a pool of the caller's, of which nothing is known: where row-level security may hide rows, the
// database refuses the statement, as it does those of a round (beginSQL).
const beginCollectSQL = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL row_security = off`

// collect runs one statement, in a transaction of its own, and reads its rows by read.
func collect[T any](ctx context.Context, pool *pgxpool.Pool, read pgx.RowToFunc[T], sql string, args ...any) (list []T, err error) {
	err = pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{BeginQuery: beginCollectSQL}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, read)
		return err
	})
	return list, err
}
