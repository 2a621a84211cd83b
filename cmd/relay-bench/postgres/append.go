package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"outboxrelay/cmd/relay-bench/table"
	outbox "outboxrelay/relay/postgres"
)

// together are the events of a transaction of fill.
const together = 200

// fill commits n events, whose numbers are 0 and up.
func (s *stage) fill(ctx context.Context, n int, aggregate func(number int) int) error {
	for from := 0; from < n; from += together {
		if _, err := s.append(ctx, from, min(together, n-from), aggregate); err != nil {
			return err
		}
	}
	return nil
}

// append commits n events in one transaction, as the side reads them, and returns when it began to commit.
func (s *stage) append(ctx context.Context, from, n int, aggregate func(number int) int) (time.Time, error) {
	events := make([]outbox.Event, n)
	for i := range events {
		of := fact{Number: from + i, Aggregate: aggregate(from + i)}
		events[i] = outbox.Event{
			ID: uuid.New(), Type: outbox.OrderCreated, AggregateType: outbox.AggregateVendorOrder,
			AggregateID: aggregateID(of.Aggregate), Data: of,
		}
	}
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = tx.Rollback(ctx) }() // of no consequence after the commit
	if err := writer(s.who)(ctx, tx, events); err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	return began, tx.Commit(ctx)
}

// writer is how events are appended for a side.
func writer(who table.Side) func(context.Context, pgx.Tx, []outbox.Event) error {
	if who == sideWatermill {
		return appendWatermill
	}
	return func(ctx context.Context, tx pgx.Tx, events []outbox.Event) error {
		_, err := outbox.AppendAll(ctx, tx, events...)
		return err
	}
}

// aggregateID is the UUID of an aggregate of the bench.
func aggregateID(aggregate int) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(aggregate >> 8), byte(aggregate)}).String()
}

// envelope is what the table would hold of an event.
func envelope(e outbox.Event) ([]byte, error) {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(outbox.OutboxPayloadEnvelope{Version: 1, EventID: e.ID.String(), OccurredAt: time.Now().UTC(), Data: data})
}
