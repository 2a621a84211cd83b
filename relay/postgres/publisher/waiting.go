package publisher

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/relay/postgres"
)

// Waiting is a row that is not published.
type Waiting struct {
	ID            uuid.UUID `json:"id"`
	EventType     string    `json:"eventType"`
	AggregateType string    `json:"aggregateType"`
	AggregateID   uuid.UUID `json:"aggregateId"`
	CreatedAt     string    `json:"createdAt"` // RFC 3339; what no message can have is as the database writes it, such as infinity
	Attempts      int       `json:"attempts"`
	LastError     *string   `json:"lastError"` // nil: it was never refused
	Parked        bool      `json:"parked"`    // until it is retried
}

// List returns the oldest rows that are not published, limit at most; with parked those alone whose
// attempts, maxAttempts, are used up. Where row-level security may hide rows from the pool's role, it fails.
func List(ctx context.Context, pool *pgxpool.Pool, parked bool, maxAttempts, limit int) ([]Waiting, error) {
	list, err := collect(ctx, pool, func(r pgx.CollectableRow) (w Waiting, err error) {
		var at *time.Time
		err = r.Scan(&w.ID, &w.EventType, &w.AggregateType, &w.AggregateID, &at, &w.CreatedAt, &w.Attempts, &w.LastError, &w.Parked)
		if at != nil {
			w.CreatedAt = at.UTC().Format(time.RFC3339Nano)
		}
		return w, err
	}, `
		SELECT id, event_type::text, aggregate_type::text, aggregate_id,
			CASE WHEN `+timedSQL+` THEN created_at END, (created_at AT TIME ZONE 'UTC')::text, attempt_count, last_error, attempt_count >= $2
		FROM outbox_events WHERE published_at IS NULL AND (NOT $1 OR attempt_count >= $2)
		ORDER BY created_at, id LIMIT $3`, parked, maxAttempts, limit)
	if err != nil {
		return nil, fmt.Errorf("list rows of %s: %w", postgres.Table, err)
	}
	return list, nil
}

// Retry has rows published that were parked or wait for their next attempt: their count begins
// anew, and last_error stays until the next refusal. A publisher may have one under way, and is waited for.
// It returns the IDs of those that are not published any more or were never there, which stay as they are. It fails where List does.
func Retry(ctx context.Context, pool *pgxpool.Pool, ids []uuid.UUID) (left []uuid.UUID, err error) {
	left, err = collect(ctx, pool, pgx.RowTo[uuid.UUID], `
		WITH retried AS (UPDATE outbox_events SET attempt_count = 0 WHERE id = ANY ($1::text[]::uuid[]) AND published_at IS NULL RETURNING id)
		SELECT asked.id FROM unnest($1::text[]::uuid[]) AS asked (id) WHERE asked.id NOT IN (SELECT id FROM retried)`, texts(ids))
	if err != nil {
		return nil, fmt.Errorf("retry rows of %s: %w", postgres.Table, err)
	}
	return left, nil
}
