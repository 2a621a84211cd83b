package publisher

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// After a failover the address leads to the new primary, and connections that were made before it to what is a standby now, which
// answers, and takes no writes.
func TestConnectionsToAStandbyAreGivenUp(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	var standby atomic.Bool
	standby.Store(true)
	o := f.options()
	o.Pool = f.connect(func(c *pgxpool.Config) {
		c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			if !standby.Load() {
				return nil
			}
			_, err := conn.Exec(ctx, "SET default_transaction_read_only = on")
			return err
		}
	})
	list := events(3, 2)
	f.append(list...)
	p, _ := f.start(o)
	f.await("not ready", func() bool { return p.streak.err() != nil })
	standby.Store(false)
	f.awaitPublished()
	f.judge(list)
	f.await("ready", func() bool { return p.Ready(t.Context()) == nil })
}
