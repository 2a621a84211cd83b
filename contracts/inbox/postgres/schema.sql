CREATE TABLE IF NOT EXISTS inbox_events (
    consumer        text        NOT NULL,
    event_id        text        NOT NULL,
    aggregate_id    text        NOT NULL,
    version         bigint      NOT NULL,
    state           text        NOT NULL CHECK (state IN ('claimed', 'waiting', 'processed', 'dead')),
    token           text        NOT NULL,
    lease_until     timestamptz NOT NULL,
    next_attempt_at timestamptz NOT NULL,
    failures        integer     NOT NULL DEFAULT 0,
    takeovers       integer     NOT NULL DEFAULT 0,
    errors          jsonb       NOT NULL DEFAULT '[]',
    expires_at      timestamptz NOT NULL,
    PRIMARY KEY (consumer, event_id)
);
CREATE INDEX IF NOT EXISTS inbox_events_open ON inbox_events (consumer, aggregate_id, version) WHERE state IN ('claimed', 'waiting');
CREATE INDEX IF NOT EXISTS inbox_events_expires ON inbox_events (expires_at);
