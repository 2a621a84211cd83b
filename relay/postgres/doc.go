// Package postgres is the producer's end of an outbox in Postgres: it appends events to the table
// outbox_events in the producer's own transaction, so that the business write and its event are
// committed together or not at all. Package migrations makes the table, and package publisher
// carries its rows to Pub/Sub.
//
//	tx, err := pool.Begin(ctx)
//	…
//	id, err := postgres.Append(ctx, tx, postgres.Event{
//		Type: postgres.OrderCreated, AggregateType: postgres.AggregateVendorOrder, AggregateID: order.ID,
//		Data: order,
//	})
//	…
//	err = tx.Commit(ctx)
//
// Append is for pgx, AppendSQL for database/sql, AppendGORM for GORM; AppendAll and its like take
// several events at once. Everything is checked before anything is written, by the contract and by
// the limits of Postgres and Pub/Sub.
//
// # Order
//
// The order of an aggregate is that of (created_at, id). A transaction that appends to an aggregate holds an
// advisory lock of it until it ends, and created_at is read from the database's clock after the
// lock: so nobody commits an event of an aggregate that is older than one that was committed
// before it. It is also later than every unpublished event of the aggregate that the transaction can see,
// which holds even where the database's clock was set back.
//
// Two transactions that append to the same aggregates in different order may deadlock, which
// Postgres ends by an error for one of them. AppendAll takes its locks in one order for
// everybody.
//
// # Append-only
//
// Of a row only published_at, attempt_count and last_error are ever changed, and by the publisher
// alone; nothing here updates or deletes. The second migration has the database refuse
// anything else.
//
// # No trace
//
// Neither the table nor the envelope, both of which are fixed, has a place for a W3C traceparent, so a
// trace does not go on from the producer to its consumers. What joins their logs is the event's ID,
// and Decode makes the trace ID of it. A producer that wants its own correlation puts it into Data.
package postgres

//go:generate go run ./generate
