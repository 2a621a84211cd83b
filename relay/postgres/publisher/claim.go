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
// have publishers fail each other's rounds after they have published. Row-level security would hide rows without a word, all of them or an
// aggregate's head: off is that the database refuses to read the table so.
const (
	beginSQL    = beginAnySQL + `; SET LOCAL plan_cache_mode = force_custom_plan`
	beginAnySQL = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL jit = off; SET LOCAL idle_in_transaction_session_timeout = '60s'; SET LOCAL row_security = off`
)

// beginIndexedSQL opens one where the optional index is. The planner may hold it cheaper to sort the backlog than
// to read the oldest by the index that has them in order, of a table without statistics above all; it never is.
const beginIndexedSQL = beginSQL + `; SET LOCAL enable_sort = off`

// beginWalkSQL opens one whose claim walks over aggregates, which is by the optional index alone. Postgres 12 has no incremental sort,
// and fails where one turns it off.
const beginWalkSQL = beginIndexedSQL + `; SELECT set_config(name, 'off', true) FROM pg_settings WHERE name = 'enable_incremental_sort'; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off`

// beginNearSQL opens one whose claim is near. Its plan is made once for each connection: to make it takes as long as
// to run it. What such a plan is made for, any number of rows, can mislead it no more: both of its looks are by
// the index.
const beginNearSQL = beginAnySQL + `; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off`

// claimSQL locks what a round may publish, where the optional index is not. It looks at the oldest unpublished rows up to the
// window ($1), without the aggregates that are held ($3) and those whose head is parked ($4). What comes first
// of an aggregate in there is its head, as the window is cut from the oldest on. It locks heads that nobody else has, as many as it
// takes to fill the batch ($2) with rows behind them, so that the other aggregates are left to other
// publishers, and then the oldest rows of their aggregates. A row that was published or locked since
// the snapshot is left out, which leaves a gap in the places of its aggregate.
//
// The index (published_at) of the contract finds the backlog, which is read and sorted each time.
var claimSQL = "WITH " + hiddenSQL + `, sight AS MATERIALIZED (
	SELECT id, aggregate_type, aggregate_id, created_at
	FROM outbox_events
	WHERE published_at IS NULL AND ` + unheldSQL + ` AND ` + noneOf("hidden") + `
	ORDER BY created_at, id
	LIMIT $1
), looked AS (
	SELECT count(*) AS seen, NULL::text AS end_type, NULL::uuid AS end_id FROM sight
), ` + chooseSQL

// claimIndexedSQL is claimSQL where the optional index is, which has the window in order. It reads no more than the
// window: what is held back counts as seen, and is left out afterwards, as its head is in there.
const claimIndexedSQL = `WITH oldest AS MATERIALIZED (
	SELECT id, aggregate_type, aggregate_id, created_at, attempt_count
	FROM outbox_events
	WHERE published_at IS NULL
	ORDER BY created_at, id
	LIMIT $1
), sight AS MATERIALIZED (
	SELECT id, aggregate_type, aggregate_id, created_at
	FROM (SELECT *, first_value(attempt_count) OVER (PARTITION BY aggregate_type, aggregate_id ORDER BY created_at, id) AS head_attempts FROM oldest) o
	WHERE head_attempts < $4 AND ` + unheldSQL + `
), looked AS (
	SELECT count(*) AS seen, NULL::text AS end_type, NULL::uuid AS end_id FROM oldest
), ` + chooseSQL

// unheldSQL is whether the aggregate of a row is none of those that are held.
const unheldSQL = `(cardinality($3::text[]) = 0 OR aggregate_type::text || '/' || aggregate_id::text <> ALL ($3::text[]))`

// unpublishedSQL is whether a row e, which is looked up by its ID, is still unpublished. As "published_at IS NULL" it would offer the planner the index of
// that, by which a table without fresh statistics has it read the backlog once for each row.
const unpublishedSQL = `num_nonnulls(e.published_at) = 0`

// chooseSQL is how all go on from what is in sight, and what they looked at.
const chooseSQL = `placed AS MATERIALIZED (
	SELECT *,
		row_number() OVER (PARTITION BY aggregate_type, aggregate_id ORDER BY created_at, id) AS place,
		count(*) OVER (PARTITION BY aggregate_type, aggregate_id) AS run
	FROM sight
), heads AS MATERIALIZED (
	SELECT e.aggregate_type, e.aggregate_id
	FROM (SELECT id FROM placed WHERE place = 1 ORDER BY created_at, id) p JOIN outbox_events e ON e.id = p.id
	WHERE ` + unpublishedSQL + `
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
	WHERE ` + unpublishedSQL + `
	FOR UPDATE OF e SKIP LOCKED
), ` + sizedSQL + `
SELECT l.seen, (SELECT count(*) FROM sight), (SELECT count(*) FROM taken), l.end_type, l.end_id, t.id, t.event_type, t.aggregate_type, t.aggregate_id, t.payload_json::text, CASE WHEN ` + timedSQL + ` THEN t.created_at END, t.attempt_count, t.place
FROM looked l LEFT JOIN fitting t ON true ORDER BY t.created_at, t.id`

// nearSQL is the claim of a backlog that is spread over many aggregates: it locks the oldest rows that
// nobody else has ($1), whatever they are, and counts their places among all that are as old, and those. A row
// whose head another has gets its true place, and so is not published; one that is held ($3) or parked ($4) has none, which is 0. $2 is far
// beyond how many are as old; a row beyond it has no place either. It needs the optional index, without which each of the
// two looks would sort the backlog. It leaves out nothing beforehand, so that it reads no more than those rows.
const nearSQL = `
WITH taken AS MATERIALIZED (
	SELECT id, event_type::text, aggregate_type::text, aggregate_id, payload_json, created_at, attempt_count
	FROM outbox_events
	WHERE published_at IS NULL
	ORDER BY created_at, id
	LIMIT $1
	FOR UPDATE SKIP LOCKED
), placed AS MATERIALIZED (
	SELECT id, CASE WHEN attempt_count < $4 AND ` + unheldSQL + ` THEN row_number() OVER (PARTITION BY aggregate_type, aggregate_id ORDER BY created_at, id) END AS place
	FROM (
		SELECT id, aggregate_type, aggregate_id, created_at, attempt_count
		FROM outbox_events
		WHERE published_at IS NULL AND created_at <= (SELECT max(created_at) FROM taken)
		ORDER BY created_at, id
		LIMIT $2
	) sight
), ` + sizedSQL + `
SELECT (SELECT count(*) FROM placed), (SELECT count(place) FROM placed), (SELECT count(*) FROM taken), NULL::text, NULL::uuid, t.id, t.event_type, t.aggregate_type, t.aggregate_id, t.payload_json::text, CASE WHEN ` + timedSQL + ` THEN t.created_at END, t.attempt_count, coalesce(p.place, 0)
FROM fitting t LEFT JOIN placed p USING (id) ORDER BY t.created_at, t.id`

// nearSight is how many batches nearSQL counts places among.
const nearSight = 20

// claim is what a round has locked.
type claim struct {
	rows []*row // oldest first
	// locked is how many it has locked: those beyond the bound on their bytes are not in rows.
	locked int
	// sight is how many may go, as far as it looked, whether others have them or not.
	sight int
	more  bool // there may be rows beyond what it looked at
	// end is where a walk has stopped, nil: it came to the last aggregate; passed is how many it passed by that are held back.
	end    *aggregate
	passed int
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
		r, err := scan(rows, &seen, &c)
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
	switch c.alone = true; {
	case tx.near():
		c.more, c.alone = c.locked >= batch, seen <= 2*batch
	case tx.walks():
		c.more, c.passed = c.end != nil, seen
	default:
		c.more = seen >= tx.window
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
	if t.walks() {
		args = []any{sight * batch, batch, held, maxAttempts, claimBytes, nil, nil}
		if t.from != nil {
			args[5], args[6] = t.from.kind, t.from.id
		}
		return walkSQL, args
	}
	sql = claimSQL
	if t.indexed {
		sql = claimIndexedSQL
	}
	return sql, []any{t.window, batch, held, maxAttempts, claimBytes}
}

// scan reads one row of the answer; nil is the one that only tells what was seen.
func scan(rows pgx.Rows, seen *int, c *claim) (*row, error) {
	var (
		endType         *string
		endID           *uuid.UUID
		id, aggregateID *uuid.UUID
		eventType, kind *string
		payload         []byte
		createdAt       *time.Time
		attempts        *int
		place           *int64
	)
	if err := rows.Scan(seen, &c.sight, &c.locked, &endType, &endID, &id, &eventType, &kind, &aggregateID, &payload, &createdAt, &attempts, &place); err != nil {
		return nil, err
	}
	if endID != nil {
		c.end = &aggregate{*endType, *endID}
	}
	if id == nil {
		return nil, nil
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
