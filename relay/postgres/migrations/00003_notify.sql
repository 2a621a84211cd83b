-- Optional: a commit with new events wakes the publishers, which otherwise find them by their poll.
-- Postgres folds equal notifications of a transaction into one and sends it at commit; it carries
-- nothing, as what there is to publish is read from the table.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION outbox_events_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('outbox_events', '');
	RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER outbox_events_notify AFTER INSERT ON outbox_events
	FOR EACH STATEMENT EXECUTE FUNCTION outbox_events_notify();

-- +goose Down
DROP TRIGGER outbox_events_notify ON outbox_events;
DROP FUNCTION outbox_events_notify();
