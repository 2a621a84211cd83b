package publisher

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"outboxrelay/relay/postgres"
)

// beginSQL opens a round. A generic plan would be made for any number of rows, and sort; to compile a plan takes
// longer than to run it; a publisher that hangs loses its locks. A stricter isolation, which may be the database's default, would
// have publishers fail each other's rounds after they have published.
const beginSQL = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL jit = off; SET LOCAL idle_in_transaction_session_timeout = '60s'`

// beginIndexedSQL opens one where the optional index is. The planner may hold it cheaper to sort the backlog than
// to read the oldest by the index that has them in order, of a table without statistics above all; it never is.
const beginIndexedSQL = beginSQL + `; SET LOCAL enable_sort = off`

// beginNearSQL opens one whose claim is near. Its plan is made once for each connection: to make it takes as long as
// to run it. What such a plan is made for, any number of rows, can mislead it no more: both of its looks are by
// the index.
const beginNearSQL = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL jit = off; SET LOCAL idle_in_transaction_session_timeout = '60s'; SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off`

// claimSQL locks what a round may publish. It looks at the oldest unpublished rows up to the
// window ($1), without the aggregates that are held ($3) and what parked rows hold back ($4). What comes first
// of an aggregate in there is its head, as the window is cut from the oldest on. It locks heads that nobody else has, as many as it
// takes to fill the batch ($2) with rows behind them, so that the other aggregates are left to other
// publishers, and then the oldest rows of their aggregates. A row that was published or locked since
// the snapshot is left out, which leaves a gap in the places of its aggregate.
//
// The optional index (created_at, id) has the window in order; without it the index (published_at)
// finds the backlog, which is sorted each time.
const claimSQL = "WITH " + parkedSQL + ", " + sightSQL + unparkedPlainSQL + chooseSQL

// claimIndexedSQL is claimSQL where the optional index is.
const claimIndexedSQL = "WITH " + sightSQL + unparkedSQL + chooseSQL

// sightSQL is where both begin, up to what tells whether a row e is not held back by a parked one.
const sightSQL = `sight AS MATERIALIZED (
	SELECT id, aggregate_type, aggregate_id, created_at
	FROM outbox_events e
	WHERE published_at IS NULL
		AND (cardinality($3::text[]) = 0 OR aggregate_type::text || '/' || aggregate_id::text <> ALL ($3::text[]))
		AND `

// chooseSQL is how both go on.
const chooseSQL = `
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
	SELECT e.id, e.event_type::text, e.aggregate_type::text, e.aggregate_id, e.payload_json, e.created_at, e.attempt_count, c.place
	FROM chosen c JOIN outbox_events e ON e.id = c.id
	WHERE e.published_at IS NULL
	FOR UPDATE OF e SKIP LOCKED
), ` + sizedSQL + `
SELECT s.seen, (SELECT count(*) FROM taken), t.id, t.event_type, t.aggregate_type, t.aggregate_id, t.payload_json::text, CASE WHEN ` + timedSQL + ` THEN t.created_at END, t.attempt_count, t.place
FROM (SELECT count(*) AS seen FROM sight) s LEFT JOIN fitting t ON true ORDER BY t.created_at, t.id`

// nearSQL is the claim of a backlog that is spread over many aggregates: it locks the oldest rows that
// nobody else has ($1), whether heads or not, and counts their places among all that are as old, and those. A row
// whose head another has gets its true place, and so is not published. $2 is far beyond how many those
// are; a row beyond it has no place, which is 0. It needs the optional index, without which each of the
// two looks would sort the backlog.
const nearSQL = `
WITH taken AS MATERIALIZED (
	SELECT id, event_type::text, aggregate_type::text, aggregate_id, payload_json, created_at, attempt_count
	FROM outbox_events e
	WHERE published_at IS NULL
		AND (cardinality($3::text[]) = 0 OR aggregate_type::text || '/' || aggregate_id::text <> ALL ($3::text[]))
		AND ` + unparkedSQL + `
	ORDER BY created_at, id
	LIMIT $1
	FOR UPDATE SKIP LOCKED
), placed AS MATERIALIZED (
	SELECT id, row_number() OVER (PARTITION BY aggregate_type, aggregate_id ORDER BY created_at, id) AS place
	FROM (
		SELECT id, aggregate_type, aggregate_id, created_at
		FROM outbox_events e
		WHERE published_at IS NULL AND created_at <= (SELECT max(created_at) FROM taken)
			AND (cardinality($3::text[]) = 0 OR aggregate_type::text || '/' || aggregate_id::text <> ALL ($3::text[]))
			AND ` + unparkedSQL + `
		ORDER BY created_at, id
		LIMIT $2
	) sight
), ` + sizedSQL + `
SELECT (SELECT count(*) FROM placed), (SELECT count(*) FROM taken), t.id, t.event_type, t.aggregate_type, t.aggregate_id, t.payload_json::text, CASE WHEN ` + timedSQL + ` THEN t.created_at END, t.attempt_count, coalesce(p.place, 0)
FROM fitting t LEFT JOIN placed p USING (id) ORDER BY t.created_at, t.id`

// nearSight is how many batches nearSQL counts places among.
const nearSight = 20

// claim is what a round has locked.
type claim struct {
	rows []*row // oldest first
	// locked is how many it has locked: those beyond the bound on their bytes are not in rows.
	locked int
	more   bool // there may be rows beyond what it looked at
	// alone: no other process is at work for all that the claim saw. A near one sees how many rows it
	// passed by, and one round of this process may have those of one batch.
	alone bool
}

// claimRows locks rows until the end of tx, at most batch, none of the aggregates that are held, and none that a row holds
// back which was tried maxAttempts times.
func claimRows(ctx context.Context, tx *transaction, batch, maxAttempts int, held []string) (claim, error) {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	sql, args := tx.claim(batch, maxAttempts, held)
	var c claim
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return c, fmt.Errorf("claim rows of %s: %w", postgres.Table, err)
	}
	defer rows.Close()
	seen := 0
	for rows.Next() {
		r, err := scan(rows, &seen, &c.locked)
		if err != nil {
			return c, fmt.Errorf("read claimed rows of %s: %w", postgres.Table, err)
		}
		if r != nil {
			c.rows = append(c.rows, r)
		}
	}
	if err := rows.Err(); err != nil {
		return c, fmt.Errorf("claim rows of %s: %w", postgres.Table, err)
	}
	c.more, c.alone = seen >= tx.window, true
	if tx.near() {
		c.more, c.alone = c.locked >= batch, seen <= 2*batch
	}
	return c, nil
}

// claim is the statement of claimRows.
func (t *transaction) claim(batch, maxAttempts int, held []string) (sql string, args []any) {
	if held == nil {
		held = []string{} // nil is NULL, of which nothing is known
	}
	if t.near() {
		return nearSQL, []any{batch, nearSight * batch, held, maxAttempts, claimBytes}
	}
	sql = claimSQL
	if t.indexed {
		sql = claimIndexedSQL
	}
	return sql, []any{t.window, batch, held, maxAttempts, claimBytes}
}

// scan reads one row of the answer; nil is the one that only tells how many were seen.
func scan(rows pgx.Rows, seen, locked *int) (*row, error) {
	var (
		id, aggregateID *uuid.UUID
		eventType, kind *string
		payload         []byte
		createdAt       *time.Time
		attempts        *int
		place           *int64
	)
	if err := rows.Scan(seen, locked, &id, &eventType, &kind, &aggregateID, &payload, &createdAt, &attempts, &place); err != nil || id == nil {
		return nil, err
	}
	r := &row{
		id: *id, eventType: *eventType, aggregate: aggregate{*kind, *aggregateID}, payload: payload,
		attempts: *attempts, place: *place, timeless: createdAt == nil, shapeless: !isObject(payload),
	}
	if createdAt != nil {
		r.createdAt = *createdAt
	}
	return r, nil
}
