package publisher

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"outboxrelay/relay/postgres"
)

// markSQL ends a round: what was acknowledged is published, what was refused has one attempt more. The
// time is the database's, after the acknowledgement. No other column is ever changed.
const markSQL = `
UPDATE outbox_events e SET
	published_at = CASE WHEN m.reason IS NULL THEN clock_timestamp() END,
	attempt_count = e.attempt_count + CASE WHEN m.reason IS NULL THEN 0 ELSE 1 END,
	last_error = coalesce(m.reason, e.last_error)
FROM unnest($1::uuid[], $2::text[]) AS m (id, reason)
WHERE e.id = m.id`

// markRows marks rows that tx has locked.
func markRows(ctx context.Context, tx pgx.Tx, ids []uuid.UUID, reasons []*string) error {
	if _, err := tx.Exec(ctx, markSQL, ids, reasons); err != nil {
		return fmt.Errorf("mark rows of %s: %w", postgres.Table, err)
	}
	return nil
}
