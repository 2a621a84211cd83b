package postgres_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/postgres"
	local "outboxrelay/deploy/local/postgres"
)

// server starts a Postgres of the test's own in dir.
func server(t *testing.T, dir string) *local.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	s, err := local.Start(ctx, dir, local.Unsafe...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// folder is one in which a server may have its socket.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg") //nolint:usetesting // the path of a socket is bounded, and t.TempDir is long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left of it is no failure
	return dir
}

func migrated(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := postgres.New(pool).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return pool
}

// After a failover connections that were made to what is a standby answer, and take no writes, for as long as they live. That is
// no failure of an event, and they are left for what the address leads to by then.
func TestConnectionsToAStandbyAreLeft(t *testing.T) {
	t.Parallel()
	if !local.Installed() {
		t.Skip("needs Postgres: apt-get install postgresql")
	}
	old, next := folder(t), folder(t)
	was := server(t, old)
	pool := migrated(t, was.URL())
	ask := claimed(t, postgres.New(pool), newAsk(time.Hour))
	pool.Close()
	if err := was.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(old, "data", "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	server(t, old)
	migrated(t, server(t, next).URL())

	var leads atomic.Pointer[string]
	leads.Store(&old)
	config, err := pgxpool.ParseConfig(was.URL())
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, filepath.Join(*leads.Load(), ".s.PGSQL.5432"))
	}
	if pool, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	store := postgres.New(pool)
	called := false
	err = store.Within(t.Context(), ask.Ref, time.Hour, func(ctx context.Context, tx pgx.Tx) error {
		called = true
		_, err := tx.Exec(ctx, "CREATE TABLE effects ()")
		return err
	})
	if called || err == nil {
		t.Errorf("called is %v, with %v; want that no handler is called on a standby", called, err)
	}
	for name, write := range map[string]func() error{
		"claim":  func() error { _, err := store.Claim(t.Context(), newAsk(time.Hour)); return err },
		"settle": func() error { return store.Settle(t.Context(), ask.Ref, inbox.EndProcessed, time.Hour) },
		"within": func() error {
			return store.Within(t.Context(), ask.Ref, time.Hour, func(context.Context, pgx.Tx) error { return nil })
		},
		"sweep": func() error { _, err := store.Sweep(t.Context(), 1); return err },
	} {
		t.Run(name, func(t *testing.T) {
			leads.Store(&old)
			pool.Reset()
			if err := write(); err == nil {
				t.Fatalf("got %v from a standby", err)
			}
			leads.Store(&next)
			if _, err := store.Claim(t.Context(), newAsk(time.Hour)); err != nil {
				t.Errorf("still on the standby: %v", err)
			}
		})
	}
}
