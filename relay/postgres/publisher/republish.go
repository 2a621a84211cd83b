package publisher

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/contracts"
	"outboxrelay/ier"
	"outboxrelay/relay/postgres"
)

// ErrNotPublished is of a row that Republish leaves alone: it is not there, or a publisher is still to
// publish it, to all consumers.
var ErrNotPublished = errors.New("not published yet, or not there")

// Republish publishes rows once more, to target and for one consumer alone, whose inbox takes up what it had
// given up as a dead letter; those of the others acknowledge it without an effect. Rows of an
// aggregate go in their order. The rows stay as they are. It fails where List does. failed has the reason of each that was not published.
func Republish(ctx context.Context, pool *pgxpool.Pool, target ier.Target, consumer string, ids []uuid.UUID) (failed map[uuid.UUID]error, err error) {
	parcels, err := published(ctx, pool, ids)
	if err != nil {
		return nil, err
	}
	failed = make(map[uuid.UUID]error)
	for _, id := range ids {
		failed[id] = ErrNotPublished
	}
	for len(parcels) > 0 {
		end := 1
		for end < len(parcels) && parcels[end].Record.AggregateID == parcels[0].Record.AggregateID {
			end++
		}
		for i := range parcels[:end] {
			parcels[i].Message.Attributes[contracts.AttrConsumer] = consumer
		}
		for i, err := range target.Deliver(ctx, parcels[:end]) {
			id := uuid.MustParse(parcels[i].Record.EventID)
			if failed[id] = err; err == nil {
				delete(failed, id)
			}
		}
		parcels = parcels[end:]
	}
	return failed, nil
}

// published reads those of the rows that are published, an aggregate after the other.
func published(ctx context.Context, pool *pgxpool.Pool, ids []uuid.UUID) ([]ier.Parcel, error) {
	parcels, err := collect(ctx, pool, func(r pgx.CollectableRow) (ier.Parcel, error) {
		var w row
		err := r.Scan(&w.id, &w.eventType, &w.aggregate.kind, &w.aggregate.id, &w.payload, &w.createdAt)
		rec := w.record()
		return ier.Parcel{Record: rec, Message: message(rec, w.payload), Lane: lane}, err
	}, `
		SELECT id, event_type::text, aggregate_type::text, aggregate_id, payload_json::text, created_at
		FROM outbox_events WHERE id = ANY ($1::text[]::uuid[]) AND published_at IS NOT NULL AND `+timedSQL+`
		ORDER BY aggregate_id, created_at, id`, texts(ids))
	if err != nil {
		return nil, fmt.Errorf("read rows of %s: %w", postgres.Table, err)
	}
	return parcels, nil
}
