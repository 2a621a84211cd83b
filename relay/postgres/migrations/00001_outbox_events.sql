-- The outbox: one row for each event, appended in the transaction that makes it true. Table,
-- enums and indexes are fixed by the contract; what only this product needs is optional, and a
-- migration of its own.

-- +goose Up
-- The values stand in ../enums.yaml, and a test holds these two to it.
CREATE TYPE aggregate_type_enum AS ENUM (
	'vendor_order',
	'checkout_group',
	'license',
	'store',
	'media',
	'ledger_event',
	'notification',
	'ad'
);

CREATE TYPE event_type_enum AS ENUM (
	'order_created',
	'order_state_changed',
	'line_item_state_changed',
	'license_status_changed',
	'media_uploaded',
	'payment_settled',
	'cash_collected',
	'vendor_payout_recorded',
	'notification_requested',
	'order_expired',
	'order_canceled',
	'reservation_released',
	'ad_created',
	'ad_updated',
	'ad_paused',
	'ad_activated',
	'ad_expired',
	'ad_daily_rollup_ready'
);

CREATE TABLE outbox_events (
	id             UUID PRIMARY KEY,
	event_type     event_type_enum NOT NULL,
	aggregate_type aggregate_type_enum NOT NULL,
	aggregate_id   UUID NOT NULL,
	payload_json   JSONB NOT NULL,
	created_at     TIMESTAMPTZ NOT NULL DEFAULT now(),
	published_at   TIMESTAMPTZ NULL,
	attempt_count  INT NOT NULL DEFAULT 0,
	last_error     TEXT NULL
);

CREATE INDEX outbox_events_published_at_idx ON outbox_events (published_at);
CREATE INDEX outbox_events_event_type_idx ON outbox_events (event_type);
CREATE INDEX outbox_events_aggregate_idx ON outbox_events (aggregate_type, aggregate_id);

-- +goose Down
DROP TABLE outbox_events;
DROP TYPE event_type_enum;
DROP TYPE aggregate_type_enum;
