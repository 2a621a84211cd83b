package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"outboxrelay/contracts/inbox"
)

// Within implements inbox.Transactor. f is called once. A claim that was lost is told before f
// is called, and again with the mark, which comes last: until then the event's row is not locked,
// so that its duplicates are answered, and its failure is counted, while f runs. The mark is what
// lets one of several claims commit: it finds its own token alone, and holds the row until the
// commit, so that nobody takes the event over in between.
func (s *Store) Within(ctx context.Context, ref inbox.Ref, ttl time.Duration, f func(ctx context.Context, tx pgx.Tx) error) error {
	if err := s.within(ctx, ref, ttl, f); err != nil {
		return fmt.Errorf("handle event %s within a transaction: %w", ref.EventID, err)
	}
	return nil
}

func (s *Store) within(ctx context.Context, ref inbox.Ref, ttl time.Duration, f func(ctx context.Context, tx pgx.Tx) error) error {
	conn, release, err := s.connection(ctx)
	if err != nil {
		return err
	}
	defer release()
	handlers := false
	// READ WRITE is refused at once by a standby, where the handler would fail otherwise.
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		held := false
		err := tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM inbox_events WHERE consumer = $1 AND event_id = $2 AND token = $3 AND state = 'claimed')`,
			ref.Consumer, ref.EventID, ref.Token).Scan(&held)
		switch {
		case err != nil:
			return err
		case !held:
			return inbox.ErrLost
		}
		if err := f(ctx, tx); err != nil {
			handlers = true
			return err
		}
		tag, err := tx.Exec(ctx, `
			UPDATE inbox_events SET state = 'processed', expires_at = clock_timestamp() + $4::interval
			WHERE consumer = $1 AND event_id = $2 AND token = $3 AND state = 'claimed'`, ref.Consumer, ref.EventID, ref.Token, ttl)
		if err == nil && tag.RowsAffected() == 0 {
			err = inbox.ErrLost
		}
		return err
	})
	if !handlers {
		s.leaveStandby(err)
	}
	if passes(err, handlers, conn.IsClosed()) {
		err = inbox.Passing(err)
	}
	return err
}

// connection returns a connection of the pool until it is released. Where ctx ends before that it
// is closed, whoever uses it: a handler that hangs would hold what its transaction has locked,
// which the next try then waits for, and a place in the pool.
func (s *Store) connection(ctx context.Context) (*pgx.Conn, func(), error) {
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	conn, closed := pooled.Conn(), make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		closed <- pooled.Hijack().PgConn().Conn().Close() // the socket alone, as conn may be in use
	})
	return conn, func() {
		if stop() {
			pooled.Release()
			return
		}
		_ = errors.Join(<-closed, conn.Close(ctx)) // its session is over whatever they say
	}, nil
}
