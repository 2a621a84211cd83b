package publisher

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"outboxrelay/relay/postgres"
)

// beginSQL opens a round. A generic plan would be made for any number of rows, and sort; a publisher that
// hangs loses its locks.
const beginSQL = `BEGIN; SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL idle_in_transaction_session_timeout = '60s'`

// claimSQL locks what a round may publish. It looks at the oldest unpublished rows up to the
// window ($1), without the aggregates that are held ($3). What comes first of an aggregate in there is its
// head, as the window is cut from the oldest on. It locks heads that nobody else has, as many as it
// takes to fill the batch ($2) with rows behind them, so that the other aggregates are left to other
// publishers, and then the oldest rows of their aggregates. A row that was published or locked since
// the snapshot is left out, which leaves a gap in the places of its aggregate.
//
// The optional index (created_at, id) has the window in order; without it the index (published_at)
// finds the backlog, which is sorted each time.
const claimSQL = `
WITH sight AS MATERIALIZED (
	SELECT id, aggregate_type, aggregate_id, created_at
	FROM outbox_events
	WHERE published_at IS NULL
		AND (cardinality($3::text[]) = 0 OR aggregate_type::text || '/' || aggregate_id::text <> ALL ($3::text[]))
	ORDER BY created_at, id
	LIMIT $1
), placed AS MATERIALIZED (
	SELECT *,
		row_number() OVER (PARTITION BY aggregate_type, aggregate_id ORDER BY created_at, id) AS place,
		count(*) OVER (PARTITION BY aggregate_type, aggregate_id) AS run
	FROM sight
), heads AS MATERIALIZED (
	SELECT e.aggregate_type, e.aggregate_id
	FROM (SELECT id FROM placed WHERE place = 1 ORDER BY created_at, id) p JOIN outbox_events e ON e.id = p.id
	WHERE e.published_at IS NULL
	LIMIT (SELECT ceil($2::float8 * count(*) / greatest(1, sum(least(run, $2)))) FROM placed WHERE place = 1)
	FOR UPDATE OF e SKIP LOCKED
), chosen AS MATERIALIZED (
	SELECT p.id, p.created_at, p.place
	FROM placed p JOIN heads h USING (aggregate_type, aggregate_id)
	ORDER BY p.created_at, p.id
	LIMIT $2
), taken AS MATERIALIZED (
	SELECT e.id, e.event_type::text, e.aggregate_type::text, e.aggregate_id, e.payload_json::text, e.created_at, e.attempt_count, c.place
	FROM chosen c JOIN outbox_events e ON e.id = c.id
	WHERE e.published_at IS NULL
	FOR UPDATE OF e SKIP LOCKED
)
SELECT s.seen, t.* FROM (SELECT count(*) AS seen FROM sight) s LEFT JOIN taken t ON true ORDER BY t.created_at, t.id`

// claim is what a round has locked.
type claim struct {
	rows []*row // oldest first
	seen int    // rows in the window
}

// claimRows locks rows until the end of tx.
func claimRows(ctx context.Context, tx pgx.Tx, window, batch int, held []string) (claim, error) {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	if held == nil {
		held = []string{} // nil is NULL, of which nothing is known
	}
	var c claim
	rows, err := tx.Query(ctx, claimSQL, window, batch, held)
	if err != nil {
		return c, fmt.Errorf("claim rows of %s: %w", postgres.Table, err)
	}
	defer rows.Close()
	for rows.Next() {
		r, found, err := c.scan(rows)
		if err != nil {
			return c, fmt.Errorf("read claimed rows of %s: %w", postgres.Table, err)
		}
		if found {
			c.rows = append(c.rows, r)
		}
	}
	if err := rows.Err(); err != nil {
		return c, fmt.Errorf("claim rows of %s: %w", postgres.Table, err)
	}
	return c, nil
}

// scan reads one row of the answer; found is false for the one that only tells how many were seen.
func (c *claim) scan(rows pgx.Rows) (r *row, found bool, err error) {
	var (
		id, aggregateID *uuid.UUID
		eventType, kind *string
		payload         []byte
		createdAt       *time.Time
		attempts        *int
		place           *int64
	)
	if err := rows.Scan(&c.seen, &id, &eventType, &kind, &aggregateID, &payload, &createdAt, &attempts, &place); err != nil {
		return nil, false, err
	}
	if id == nil {
		return nil, false, nil
	}
	return &row{
		id: *id, eventType: *eventType, aggregate: aggregate{*kind, *aggregateID}, payload: payload,
		createdAt: *createdAt, attempts: *attempts, place: *place,
	}, true, nil
}
