package postgres

import (
	"context"
	_ "embed" // of the schema
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

// Schema creates the table and its indexes where they are missing.
//
//go:embed schema.sql
var Schema string

// Store implements inbox.Store, and inbox.Transactor on pgx.Tx.
type Store struct{ pool *pgxpool.Pool }

var (
	_ inbox.Store              = (*Store)(nil)
	_ inbox.Transactor[pgx.Tx] = (*Store)(nil)
)

// New returns a Store over pool, which the caller closes once nothing uses the Store any
// more.
func New(pool *pgxpool.Pool) *Store { return &Store{pool} }

// Migrate applies Schema. Several processes may do so at the same time.
func (s *Store) Migrate(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('inbox_events schema', 0))`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, Schema)
		return err
	})
	if err != nil {
		return fmt.Errorf("create the inbox's table: %w", err)
	}
	return nil
}

// Sweep removes what is past its time, at most limit events, and returns how many.
func (s *Store) Sweep(ctx context.Context, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `
		DELETE FROM inbox_events WHERE (consumer, event_id) IN
			(SELECT consumer, event_id FROM inbox_events WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED)`, limit)
	if err != nil {
		s.leaveStandby(err)
		return 0, fmt.Errorf("sweep the inbox: %w", err)
	}
	return tag.RowsAffected(), nil
}

// newBatch begins a transaction for send, whatever the database's default: what waits for a lock
// goes on with what the other committed, of which an older snapshot knows nothing.
func newBatch() *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	return batch
}

// send runs a transaction in one round trip. The pool closes the connection of one that fails.
func (s *Store) send(ctx context.Context, batch *pgx.Batch) error {
	batch.Queue("COMMIT")
	err := s.pool.SendBatch(ctx, batch).Close()
	s.leaveStandby(err)
	return err
}

// Statements of a claim, in one round trip and one transaction. The lock orders the claims of an aggregate, so that each sees the ones before
// it; the second statement takes the event where nothing stands in its way, and the last
// tells how it stands. clock_timestamp, as the lock may have been waited for.
const (
	lockSQL = `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`

	takeSQL = `
		INSERT INTO inbox_events AS e (consumer, event_id, aggregate_id, version, state, token, lease_until, next_attempt_at, expires_at)
		SELECT $1, $2, $3, $4, 'claimed', $5, clock_timestamp() + $6::interval, '-infinity', clock_timestamp() + $7::interval
		WHERE NOT EXISTS (
			SELECT FROM inbox_events WHERE consumer = $1 AND aggregate_id = $3 AND version < $4
				AND state IN ('claimed', 'waiting') AND expires_at > clock_timestamp())
			OR EXISTS (SELECT FROM inbox_events WHERE consumer = $1 AND event_id = $2 AND token = $5 AND state = 'claimed' AND lease_until > clock_timestamp())
		ON CONFLICT (consumer, event_id) DO UPDATE SET
			aggregate_id = excluded.aggregate_id, version = excluded.version, state = 'claimed',
			token = excluded.token, lease_until = excluded.lease_until, expires_at = excluded.expires_at,
			failures  = CASE WHEN e.state = 'dead' OR e.expires_at <= clock_timestamp() THEN 0 ELSE e.failures END,
			errors    = CASE WHEN e.state = 'dead' OR e.expires_at <= clock_timestamp() THEN '[]' ELSE e.errors END,
			takeovers = CASE WHEN e.state <> 'claimed' OR e.expires_at <= clock_timestamp() THEN 0
				WHEN e.token = excluded.token AND e.lease_until > clock_timestamp() THEN e.takeovers ELSE e.takeovers + 1 END
		WHERE e.expires_at <= clock_timestamp()
			OR e.state = 'claimed' AND (e.lease_until <= clock_timestamp() OR e.token = excluded.token)
			OR e.state = 'waiting' AND e.next_attempt_at <= clock_timestamp()
			OR e.state = 'dead' AND $8`

	standsSQL = `
		SELECT state, token, failures, takeovers, errors,
			greatest(0, extract(epoch FROM lease_until - clock_timestamp()) * 1e6)::bigint,
			CASE WHEN next_attempt_at = '-infinity' THEN 0 ELSE greatest(0, extract(epoch FROM next_attempt_at - clock_timestamp()) * 1e6)::bigint END
		FROM inbox_events WHERE consumer = $1 AND event_id = $2 AND expires_at > clock_timestamp()`

	olderSQL = `
		SELECT state = 'waiting',
			greatest(0, extract(epoch FROM CASE WHEN state = 'waiting' THEN next_attempt_at ELSE lease_until END - clock_timestamp()) * 1e6)::bigint
		FROM inbox_events WHERE consumer = $1 AND aggregate_id = $2 AND version < $3
			AND state IN ('claimed', 'waiting') AND expires_at > clock_timestamp()
		ORDER BY version LIMIT 1`
)

// Claim implements inbox.Store.
func (s *Store) Claim(ctx context.Context, ask inbox.Ask) (inbox.Claim, error) {
	c, err := s.claim(ctx, ask)
	if err != nil {
		return inbox.Claim{}, fmt.Errorf("claim event %s in Postgres: %w", ask.EventID, err)
	}
	return c, nil
}

func (s *Store) claim(ctx context.Context, ask inbox.Ask) (c inbox.Claim, err error) {
	var row event
	var older struct {
		found, waiting bool
		left           int64
	}
	batch := newBatch()
	batch.Queue(lockSQL, ask.Consumer+"\x1f"+ask.AggregateID)
	batch.Queue(takeSQL, ask.Consumer, ask.EventID, ask.AggregateID, ask.Version, ask.Token, ask.Lease, ask.Keep, ask.Replay)
	batch.Queue(standsSQL, ask.Consumer, ask.EventID).QueryRow(func(r pgx.Row) error { return row.scan(r) })
	batch.Queue(olderSQL, ask.Consumer, ask.AggregateID, ask.Version).QueryRow(func(r pgx.Row) error {
		err := r.Scan(&older.waiting, &older.left)
		older.found = err == nil
		return noRows(err)
	})
	if err := s.send(ctx, batch); err != nil {
		return c, err
	}
	c = inbox.Claim{Failures: row.failures, Takeovers: row.takeovers, Errors: row.errors}
	switch {
	case row.state == "claimed" && row.token == ask.Token && row.leaseLeft > 0:
		c.Verdict = inbox.Claimed
	case row.state == "processed":
		c.Verdict = inbox.Processed
	case row.state == "dead" && !ask.Replay:
		c.Verdict = inbox.Dead
	case row.state == "claimed" && row.leaseLeft > 0:
		c.Verdict, c.Wait = inbox.Busy, micros(row.leaseLeft)
	case row.state == "waiting" && row.nextLeft > 0:
		c.Verdict, c.Wait = inbox.Early, micros(row.nextLeft)
	case older.found:
		c.Verdict, c.Wait, c.Failing = inbox.Behind, micros(older.left), older.waiting
	default: // its time came, or the older one was settled, between two of the statements
		c.Verdict = inbox.Busy
	}
	return c, nil
}

// event is how an event stands; its state is "" where nothing is known of it.
type event struct {
	state, token        string
	failures, takeovers int
	errors              []contracts.AttemptError
	leaseLeft, nextLeft int64 // microseconds
}

func (e *event) scan(r pgx.Row) error {
	var errs []byte
	err := r.Scan(&e.state, &e.token, &e.failures, &e.takeovers, &errs, &e.leaseLeft, &e.nextLeft)
	if err != nil {
		return noRows(err)
	}
	return json.Unmarshal(errs, &e.errors)
}

func noRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// GiveBack implements inbox.Store.
func (s *Store) GiveBack(ctx context.Context, ref inbox.Ref, failure contracts.AttemptError, wait time.Duration) error {
	counted := 0
	list := []contracts.AttemptError{}
	if failure.Code != "" {
		counted, list = 1, append(list, failure)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("give back event %s: %w", ref.EventID, err)
	}
	held := false
	batch := newBatch()
	// A row that was given back before is found, and left as it is.
	batch.Queue(`
		WITH given AS (
			UPDATE inbox_events SET state = 'waiting', next_attempt_at = clock_timestamp() + $4::interval, takeovers = 0, failures = failures + $5,
				errors = CASE WHEN jsonb_array_length(errors) + $5 > $7 THEN (errors - 0) || $6::jsonb ELSE errors || $6::jsonb END
			WHERE consumer = $1 AND event_id = $2 AND token = $3 AND state = 'claimed' RETURNING 1)
		SELECT EXISTS (SELECT FROM given)
			OR EXISTS (SELECT FROM inbox_events WHERE consumer = $1 AND event_id = $2 AND token = $3 AND state = 'waiting')`,
		ref.Consumer, ref.EventID, ref.Token, wait, counted, string(text), inbox.MaxErrors).
		QueryRow(func(r pgx.Row) error { return r.Scan(&held) })
	return ended("give back", ref, held, s.send(ctx, batch))
}

// settleSQL finds a row that was settled before, and leaves it as it is.
const settleSQL = `
	WITH settled AS (
		UPDATE inbox_events SET state = $4, expires_at = clock_timestamp() + $5::interval
		WHERE consumer = $1 AND event_id = $2 AND token = $3 AND state = 'claimed' RETURNING 1)
	SELECT EXISTS (SELECT FROM settled)
		OR EXISTS (SELECT FROM inbox_events WHERE consumer = $1 AND event_id = $2 AND token = $3 AND state IN ('processed', 'dead'))`

// Settle implements inbox.Store.
func (s *Store) Settle(ctx context.Context, ref inbox.Ref, end inbox.End, ttl time.Duration) error {
	held := false
	batch := newBatch()
	batch.Queue(settleSQL, ref.Consumer, ref.EventID, ref.Token, string(end), ttl).QueryRow(func(r pgx.Row) error { return r.Scan(&held) })
	return ended("settle", ref, held, s.send(ctx, batch))
}

func ended(what string, ref inbox.Ref, held bool, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s event %s in Postgres: %w", what, ref.EventID, err)
	case !held:
		return fmt.Errorf("%s event %s in Postgres: %w", what, ref.EventID, inbox.ErrLost)
	}
	return nil
}
