-- Optional: the claim looks for the oldest rows that are not published. The index (published_at) of
-- the contract finds those that are not, but in no order, so that each claim sorts the whole
-- backlog; this one has them in order, and holds nothing else.

-- +goose NO TRANSACTION
-- +goose Up
-- Where it was interrupted, it has left an invalid index, which IF NOT EXISTS would take for a whole one. CONCURRENTLY
-- cannot be asked for under a condition, and without it a drop would block the producers: so the invalid one is
-- renamed, which blocks nobody, and what has that name is dropped.
-- +goose StatementBegin
DO $$
DECLARE
	invalid record;
BEGIN
	FOR invalid IN
		SELECT i.indexrelid::regclass AS index, c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid = to_regclass('outbox_events') AND NOT i.indisvalid
			AND c.relname IN ('outbox_events_claim_idx', 'outbox_events_waiting_idx')
	LOOP
		EXECUTE format('ALTER INDEX %s RENAME TO %I', invalid.index, invalid.relname || '_invalid');
	END LOOP;
END
$$;
-- +goose StatementEnd
DROP INDEX CONCURRENTLY IF EXISTS outbox_events_claim_idx_invalid;
DROP INDEX CONCURRENTLY IF EXISTS outbox_events_waiting_idx_invalid;
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_events_claim_idx ON outbox_events (created_at, id)
	WHERE published_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_events_waiting_idx ON outbox_events (aggregate_type, aggregate_id, created_at, id)
	WHERE published_at IS NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS outbox_events_waiting_idx;
DROP INDEX CONCURRENTLY IF EXISTS outbox_events_claim_idx;
