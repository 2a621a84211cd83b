package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"outboxrelay/contracts/inbox/postgres"
	"outboxrelay/deploy/local/postgres/postgrestest"
	"outboxrelay/deploy/local/thorough"
)

func TestMain(m *testing.M) {
	// They wait for Postgres, and for leases to run out.
	thorough.Beside(2)
	goleak.VerifyTestMain(postgrestest.Main(m), goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

// open returns a store in a database of its own. Its test runs beside others.
func open(t testing.TB) (*postgres.Store, *pgxpool.Pool) {
	t.Helper()
	return openWith(t, "read committed")
}

// openWith is open where transactions have an isolation by default.
func openWith(t testing.TB, isolation string) (*postgres.Store, *pgxpool.Pool) {
	t.Helper()
	return openAs(t, func(c *pgx.ConnConfig) { c.RuntimeParams["default_transaction_isolation"] = isolation })
}

// openAs is open where the store's connections are changed.
func openAs(t testing.TB, change func(*pgx.ConnConfig)) (*postgres.Store, *pgxpool.Pool) {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Parallel()
	}
	config, err := pgxpool.ParseConfig(postgrestest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 16
	change(config.ConnConfig)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	store := postgres.New(pool)
	for range 2 { // again is a no-op
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return store, pool
}
