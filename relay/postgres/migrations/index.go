package migrations

import (
	"context"
	"database/sql"
	"fmt"
)

// invalidSQL names the indexes of the fourth migration that are there and not valid.
const invalidSQL = `SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indrelid = to_regclass('outbox_events') AND NOT i.indisvalid AND c.relname IN ('outbox_events_claim_idx', 'outbox_events_waiting_idx')
	ORDER BY c.relname`

// InvalidIndexes names the indexes of the fourth migration that are not valid, which no query uses: one is being
// made, or its making was interrupted. Up makes such a one anew unless the migration counts as applied; then DownTo(3)
// comes first.
func InvalidIndexes(ctx context.Context, db *sql.DB) (names []string, err error) {
	rows, err := db.QueryContext(ctx, invalidSQL)
	if err != nil {
		return nil, fmt.Errorf("look for invalid indexes: %w", err)
	}
	defer func() { _ = rows.Close() }() // read to its end, or failed
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("look for invalid indexes: %w", err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look for invalid indexes: %w", err)
	}
	return names, nil
}
