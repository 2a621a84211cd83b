package publisher

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"outboxrelay/relay/postgres"
)

// markSQL ends a round: what was acknowledged is published, what was refused has one attempt more, or all. The
// time is the database's, after the acknowledgement. A count is a bigint: all that are left may be more than an int, where others
// wrote a number below zero. No other column is ever changed.
const markSQL = `
UPDATE outbox_events e SET
	published_at = CASE WHEN m.reason IS NULL THEN clock_timestamp() END,
	attempt_count = (e.attempt_count + m.count)::int,
	last_error = coalesce(m.reason, e.last_error)
FROM unnest($1::text[]::uuid[], $2::text[], $3::bigint[]) AS m (id, reason, count)
WHERE e.id = m.id`

// publishedSQL is markSQL where nothing was refused, which is nearly always, and takes a quarter less.
const publishedSQL = `UPDATE outbox_events SET published_at = clock_timestamp() WHERE id = ANY ($1::text[]::uuid[])`

// markRows marks rows that tx has locked. A row's reason is why it was refused, nil: it is published; its count
// is how many attempts that are.
func markRows(ctx context.Context, tx pgx.Tx, ids []uuid.UUID, reasons []*string, counts []int64) error {
	sql, args := publishedSQL, []any{texts(ids)}
	if slices.ContainsFunc(reasons, func(r *string) bool { return r != nil }) {
		sql, args = markSQL, []any{texts(ids), fitting(tx, reasons), counts}
	}
	if _, err := tx.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("mark rows of %s: %w", postgres.Table, err)
	}
	return nil
}

// texts are IDs as every way to send a statement takes them: without asking the database for its parameters, as with a pooler that
// keeps no prepared statements, nothing tells what a list of UUIDs is.
func texts(ids []uuid.UUID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	return list
}
