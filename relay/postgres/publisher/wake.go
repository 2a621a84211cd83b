package publisher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"outboxrelay/relay/postgres/migrations"
)

// triggerAgain is how often a database without the trigger is asked for it.
const triggerAgain = time.Minute

// listen wakes the publisher at each commit that appends, until ctx ends, where the database has
// the optional trigger. It has a connection of its own. While that is broken the poll finds the rows.
func (p *Publisher) listen(ctx context.Context, woken chan<- struct{}) {
	failures := 0
	for ctx.Err() == nil {
		wait := triggerAgain
		heard, err := p.hear(ctx, woken)
		if heard {
			failures = 0
		}
		if err != nil {
			failures++
			wait = p.backoff.wait(failures)
			if ctx.Err() == nil {
				p.opts.Log.Debug("not woken by the database: the poll goes on", zap.Error(err))
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// hear listens on one connection. It returns nil where there is no trigger; heard tells whether it
// was connected.
func (p *Publisher) hear(ctx context.Context, woken chan<- struct{}) (heard bool, err error) {
	dialing, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	conn, err := pgx.ConnectConfig(dialing, p.opts.Pool.Config().ConnConfig)
	if err != nil {
		return false, fmt.Errorf("connect to listen: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer cancel()
		_ = conn.Close(closing)
	}()
	present := false
	err = conn.QueryRow(dialing, `SELECT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass('outbox_events') AND tgname = 'outbox_events_notify')`).Scan(&present)
	if err != nil || !present {
		return true, err
	}
	if _, err := conn.Exec(dialing, "LISTEN "+migrations.Channel); err != nil {
		return true, fmt.Errorf("listen: %w", err)
	}
	wake(woken) // for what was appended before
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return true, fmt.Errorf("wait for a notification: %w", err)
		}
		wake(woken)
	}
}

func wake(woken chan<- struct{}) {
	select {
	case woken <- struct{}{}:
	default: // it is awake already
	}
}
