-- Optional: the claim looks for the oldest rows that are not published. The index (published_at) of
-- the contract finds those that are not, but in no order, so that each claim sorts the whole
-- backlog; this one has them in order, and holds nothing else.

-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_events_claim_idx ON outbox_events (created_at, id)
	WHERE published_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_events_waiting_idx ON outbox_events (aggregate_type, aggregate_id, created_at, id)
	WHERE published_at IS NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS outbox_events_waiting_idx;
DROP INDEX CONCURRENTLY IF EXISTS outbox_events_claim_idx;
