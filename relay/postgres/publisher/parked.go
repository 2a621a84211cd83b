package publisher

// A claim passes over what a parked row holds back, so that no number of such rows fills it: each round would find nothing
// else. Where the optional index is, no claim reads them all for that: one looks at a window of the oldest rows, and where those
// are all held back, the next ones walk over aggregates instead (walk.go). A row that is retried is no longer parked for the next
// claim. A parked row behind a head that may go counts for nothing until it is the head.

// hiddenSQL are the aggregates whose head is parked, for claimSQL, which reads the whole backlog anyway. It reads it once more, and only
// where a row is parked. Of a head that is as old as a parked row nothing is said; then the aggregate is not hidden. NOT IN is
// answered from a hash table whatever the planner expects; a join to the parked rows is a loop over all of them for each row
// where the statistics are older than they are.
const hiddenSQL = `parked AS MATERIALIZED (
	SELECT DISTINCT aggregate_type, aggregate_id FROM outbox_events WHERE published_at IS NULL AND attempt_count >= $4
), hidden AS MATERIALIZED (
	SELECT aggregate_type, aggregate_id
	FROM outbox_events
	WHERE published_at IS NULL AND (SELECT count(*) > 0 FROM parked)
		AND ((aggregate_type, aggregate_id) NOT IN (SELECT aggregate_type, aggregate_id FROM parked)) IS FALSE
	GROUP BY aggregate_type, aggregate_id
	HAVING count(*) FILTER (WHERE attempt_count < $4) = 0
		OR min(created_at) FILTER (WHERE attempt_count >= $4) < min(created_at) FILTER (WHERE attempt_count < $4)
)`
