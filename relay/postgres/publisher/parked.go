package publisher

// A claim passes over what a parked row holds back, so that no number of such rows fills it: each round would find nothing
// else. Where the optional index is, no claim reads them all for that: one looks at a window of the oldest rows, and where those
// are all held back, the next ones walk over aggregates instead (walk.go). A row that is retried is no longer parked for the next
// claim. A parked row behind a head that may go counts for nothing until it is the head.

// hiddenSQL are the aggregates whose head is parked, for claimSQL, which reads the whole backlog anyway. It reads it once more, and only
// where a row is parked. Of a head that is as old as a parked row nothing is said; then the aggregate is not hidden.
var hiddenSQL = `parked AS MATERIALIZED (
	SELECT DISTINCT aggregate_type, aggregate_id FROM outbox_events WHERE published_at IS NULL AND attempt_count >= $4
), hidden AS MATERIALIZED (
	SELECT aggregate_type, aggregate_id
	FROM outbox_events
	WHERE published_at IS NULL AND (SELECT count(*) > 0 FROM parked)
		AND (` + noneOf("parked") + `) IS FALSE
	GROUP BY aggregate_type, aggregate_id
	HAVING count(*) FILTER (WHERE attempt_count < $4) = 0
		OR min(created_at) FILTER (WHERE attempt_count >= $4) < min(created_at) FILTER (WHERE attempt_count < $4)
)`

// noneOf is whether the aggregate of a row is none of a list, as NOT IN, which is answered from a hash table: a join is a loop over all of
// the list for each row where the planner expects a few and there are thousands. But NOT IN is such a loop, too, where it expects more of them than
// work_mem takes; of an array it always expects ten.
func noneOf(list string) string {
	return `(aggregate_type, aggregate_id) NOT IN (SELECT * FROM unnest((SELECT array_agg(aggregate_type) FROM ` + list + `), (SELECT array_agg(aggregate_id) FROM ` + list + `)) l)`
}
