package publisher

import "strconv"

// walkMost bounds how many aggregates one claim walks over: some 5 to 10 µs each, as measured on two cores.
const walkMost = 10_000

// walkSQL is the claim where the oldest rows are all held back, or others have them. It goes from aggregate to aggregate by the optional
// index, from the one after ($6, $7) on, and reads of each its head alone, however many rows are behind it. It stops once
// so many ($1) may go, or at walkMost, and tells where, so that the next walk goes on there, and each aggregate has its turn. Of those that
// may go the oldest rows are in sight, as many of each as make $1 of all together, one at least. An aggregate is looked up as a range, which
// only one index has in order: were it an equality, the planner might read all rows by their age and leave out those of others.
var walkSQL = `WITH RECURSIVE walk AS (
	(
		SELECT ` + headSQL + `, 1 AS number, (` + usableSQL + `)::int AS usables
		FROM outbox_events
		WHERE published_at IS NULL AND ($7::uuid IS NULL OR (aggregate_type, aggregate_id) > ($6::text::aggregate_type_enum, $7::uuid))
		ORDER BY aggregate_type, aggregate_id, created_at, id
		LIMIT 1
	)
	UNION ALL
	SELECT n.aggregate_type, n.aggregate_id, n.usable, w.number + 1, w.usables + n.usable::int
	FROM walk w CROSS JOIN LATERAL (
		SELECT ` + headSQL + `
		FROM outbox_events
		WHERE published_at IS NULL AND (aggregate_type, aggregate_id) > (w.aggregate_type, w.aggregate_id)
		ORDER BY aggregate_type, aggregate_id, created_at, id
		LIMIT 1
	) n
	WHERE w.number < ` + walkEnd + ` AND w.usables < $1
), sight AS MATERIALIZED (
	SELECT r.*
	FROM walk w CROSS JOIN LATERAL (
		SELECT id, aggregate_type, aggregate_id, created_at
		FROM outbox_events
		WHERE published_at IS NULL AND (aggregate_type, aggregate_id) >= (w.aggregate_type, w.aggregate_id) AND (aggregate_type, aggregate_id) <= (w.aggregate_type, w.aggregate_id)
		ORDER BY aggregate_type, aggregate_id, created_at, id
		LIMIT (SELECT least($2, greatest(1, ceil($1::float8 / greatest(1, count(*))))) FROM walk WHERE usable)
	) r
	WHERE w.usable
), looked AS (
	SELECT (SELECT count(*) FROM walk WHERE NOT usable) AS seen, stopped.aggregate_type::text AS end_type, stopped.aggregate_id AS end_id
	FROM (SELECT) one LEFT JOIN walk stopped ON stopped.number >= ` + walkEnd + ` OR stopped.usables >= $1
), ` + chooseSQL

var walkEnd = strconv.Itoa(walkMost)

// headSQL is what a walk reads of a head; usableSQL is whether it may go.
const (
	headSQL   = `aggregate_type, aggregate_id, ` + usableSQL + ` AS usable`
	usableSQL = `attempt_count < $4 AND ` + unheldSQL
)
