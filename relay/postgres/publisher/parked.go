package publisher

// A claim passes over what a parked row holds back, so that no number of parked rows fills it: each round would find nothing
// else. A row that is retried is no longer parked for the next claim.

// unparkedSQL is whether the head of the aggregate of a row e was tried less often than $4. The optional index has the
// head in one look, however long the aggregate's backlog is; that look is taken for each row it holds back. A parked row behind a head that may go counts for nothing
// until it is the head.
const unparkedSQL = `(
	SELECT head.attempt_count < $4 FROM outbox_events head
	WHERE head.published_at IS NULL AND head.aggregate_type = e.aggregate_type AND head.aggregate_id = e.aggregate_id
	ORDER BY head.created_at, head.id
	LIMIT 1
)`

// parkedSQL are the parked rows, for unparkedPlainSQL. Without the optional index a claim reads the whole backlog anyway.
const parkedSQL = `parked AS MATERIALIZED (
	SELECT aggregate_type, aggregate_id, created_at, id FROM outbox_events WHERE published_at IS NULL AND attempt_count >= $4
)`

// unparkedPlainSQL is whether no row of the aggregate of e that is as old as it is parked, or older.
const unparkedPlainSQL = `NOT EXISTS (
	SELECT FROM parked
	WHERE parked.aggregate_type = e.aggregate_type AND parked.aggregate_id = e.aggregate_id
		AND (parked.created_at, parked.id) <= (e.created_at, e.id)
)`
