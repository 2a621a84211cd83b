package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"outboxrelay/contracts/inbox"
)

// markSQL marks an event unless it is processed, or in a state that is not known.
const markSQL = `
	INSERT INTO inbox_events AS e (consumer, event_id, aggregate_id, version, state, token, lease_until, next_attempt_at, expires_at)
	VALUES ($1, $2, '', 0, 'processed', '', clock_timestamp(), '-infinity', clock_timestamp() + $3::interval)
	ON CONFLICT (consumer, event_id) DO UPDATE SET state = 'processed', token = '', expires_at = excluded.expires_at
	WHERE e.state IN ('claimed', 'waiting', 'dead') OR e.expires_at <= clock_timestamp()`

// unknownSQL finds the state of an event that markSQL left alone where it is a newer version's. Whether its time
// is over has been asked: asked again, it could be over by now of what has no mark.
const unknownSQL = `
	SELECT state FROM inbox_events
	WHERE consumer = $1 AND event_id = $2 AND state NOT IN ('claimed', 'waiting', 'processed', 'dead')`

// CheckAndMarkProcessed implements inbox.Store.
func (s *Store) CheckAndMarkProcessed(ctx context.Context, consumer, eventID string, ttl time.Duration) (alreadyProcessed bool, err error) {
	unknown := ""
	err = inbox.CheckMark(consumer, eventID, ttl)
	if err == nil {
		batch := newBatch()
		batch.Queue(markSQL, consumer, eventID, ttl).Exec(func(tag pgconn.CommandTag) error {
			alreadyProcessed = tag.RowsAffected() == 0
			return nil
		})
		batch.Queue(unknownSQL, consumer, eventID).QueryRow(func(r pgx.Row) error { return noRows(r.Scan(&unknown)) })
		err = s.send(ctx, batch)
	}
	if err == nil && unknown != "" {
		err = inbox.UnknownState(unknown)
	}
	if err != nil {
		return false, fmt.Errorf("mark event %s in Postgres: %w", eventID, err)
	}
	return alreadyProcessed, nil
}
