-- Optional: the database itself refuses what the application must not do. Of a row, only
-- published_at, attempt_count and last_error may change; the deletion of one that is not published
-- would lose its event. Retention deletes published rows, so that stays allowed.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION outbox_events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		RAISE EXCEPTION 'outbox_events is append-only: it cannot be truncated, which would lose what is not published'
			USING ERRCODE = 'restrict_violation';
	END IF;
	IF TG_OP = 'DELETE' THEN
		IF OLD.published_at IS NULL THEN
			RAISE EXCEPTION 'outbox_events is append-only: event % is not published, its deletion would lose it', OLD.id
				USING ERRCODE = 'restrict_violation';
		END IF;
		RETURN OLD;
	END IF;
	IF (NEW.id, NEW.event_type, NEW.aggregate_type, NEW.aggregate_id, NEW.payload_json, NEW.created_at)
		IS DISTINCT FROM
		(OLD.id, OLD.event_type, OLD.aggregate_type, OLD.aggregate_id, OLD.payload_json, OLD.created_at) THEN
		RAISE EXCEPTION 'outbox_events is append-only: of event % only published_at, attempt_count and last_error may change', OLD.id
			USING ERRCODE = 'restrict_violation';
	END IF;
	RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER outbox_events_append_only BEFORE UPDATE OR DELETE ON outbox_events
	FOR EACH ROW EXECUTE FUNCTION outbox_events_append_only();
CREATE TRIGGER outbox_events_no_truncate BEFORE TRUNCATE ON outbox_events
	FOR EACH STATEMENT EXECUTE FUNCTION outbox_events_append_only();

-- +goose Down
DROP TRIGGER outbox_events_no_truncate ON outbox_events;
DROP TRIGGER outbox_events_append_only ON outbox_events;
DROP FUNCTION outbox_events_append_only();
