package postgres

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/relay/postgres/migrations"
)

// floorIdle is how long the floor waits for a notification before it looks again.
const floorIdle = 500 * time.Millisecond

// runFloor is the least that a publisher can do: claim a batch, publish it, mark it. It keeps no order
// between processes, counts no attempts, and its first failure ends it.
func runFloor(ctx context.Context, pool *pgxpool.Pool, to *pubsub.Publisher) error {
	listening, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = listening.Close(context.WithoutCancel(ctx)) }() // nothing is under way
	if _, err := listening.Exec(ctx, "LISTEN "+migrations.Channel); err != nil {
		return err
	}
	for ctx.Err() == nil {
		n := 0
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
			n, err = floorRound(ctx, tx, to)
			return err
		})
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		idle, cancel := context.WithTimeout(ctx, floorIdle)
		_, err = listening.WaitForNotification(idle)
		timely := idle.Err() == nil
		cancel()
		if err != nil && timely {
			return err
		}
	}
	return nil
}

const (
	floorClaim = `
SELECT id, event_type::text, aggregate_id::text, payload_json::text FROM outbox_events
WHERE published_at IS NULL ORDER BY created_at, id LIMIT $1 FOR UPDATE SKIP LOCKED`
	floorMark = `UPDATE outbox_events SET published_at = clock_timestamp() WHERE id = ANY ($1::uuid[])`
)

// floorRow is what the floor reads of a row.
type floorRow struct {
	ID              uuid.UUID
	Type, Aggregate string
	Payload         []byte
}

// floorRound publishes a batch, and returns how many rows it had.
func floorRound(ctx context.Context, tx pgx.Tx, to *pubsub.Publisher) (int, error) {
	answer, err := tx.Query(ctx, floorClaim, batch)
	if err != nil {
		return 0, err
	}
	rows, err := pgx.CollectRows(answer, pgx.RowToStructByPos[floorRow])
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	ids, acks := make([]uuid.UUID, len(rows)), make([]*pubsub.PublishResult, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
		acks[i] = to.Publish(ctx, &pubsub.Message{
			Data: r.Payload, OrderingKey: r.Aggregate, Attributes: map[string]string{"event_id": r.ID.String(), "event_type": r.Type},
		})
	}
	for _, ack := range acks {
		if _, err := ack.Get(ctx); err != nil {
			return 0, fmt.Errorf("publish: %w", err)
		}
	}
	_, err = tx.Exec(ctx, floorMark, ids)
	return len(rows), err
}
