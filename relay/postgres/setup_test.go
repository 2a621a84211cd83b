package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver
	"go.uber.org/goleak"
	driver "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"outboxrelay/deploy/local/postgres/postgrestest"
	"outboxrelay/relay/postgres/migrations"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(postgrestest.Main(m),
		goleak.IgnoreTopFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1"), // of prepared statements; it has no end
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

// within bounds every wait.
const within = 2 * time.Minute

// db is a migrated database, as each of the three libraries sees it.
type db struct {
	ctx  context.Context
	url  string
	sql  *sql.DB
	pool *pgxpool.Pool
}

func setup(t testing.TB) db {
	t.Helper()
	return setupOn(t, postgrestest.Database(t))
}

func setupOn(t testing.TB, url string) db {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancel)
	d := db{ctx: ctx, url: url}
	var err error
	if d.sql, err = sql.Open("pgx", d.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.sql.Close() })
	if d.pool, err = pgxpool.New(ctx, d.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.pool.Close)
	provider, err := migrations.New(d.sql)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(ctx); err != nil {
		t.Fatal(err)
	}
	return d
}

// gorm is a GORM handle on the same database.
func (d db) gorm(t testing.TB) *gorm.DB {
	t.Helper()
	g, err := gorm.Open(driver.New(driver.Config{Conn: d.sql}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (d db) begin(t testing.TB, o pgx.TxOptions) pgx.Tx {
	t.Helper()
	tx, err := d.pool.BeginTx(d.ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(context.Background()) })
	return tx
}

func (d db) append(t testing.TB, tx pgx.Tx, events ...Event) []uuid.UUID {
	t.Helper()
	ids, err := AppendAll(d.ctx, tx, events...)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func (d db) commit(t testing.TB, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(d.ctx); err != nil {
		t.Fatal(err)
	}
}

func (d db) exec(t testing.TB, text string, args ...any) {
	t.Helper()
	if _, err := d.pool.Exec(d.ctx, text, args...); err != nil {
		t.Fatal(err)
	}
}

// inOrder are the IDs of an aggregate's events as they are published.
func (d db) inOrder(t testing.TB, aggregate string) []uuid.UUID {
	t.Helper()
	rows, err := d.pool.Query(d.ctx, "SELECT id FROM outbox_events WHERE aggregate_id = $1 ORDER BY created_at, id", aggregate)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func (d db) createdAt(t testing.TB, id uuid.UUID) (at time.Time) {
	t.Helper()
	if err := d.pool.QueryRow(d.ctx, "SELECT created_at FROM outbox_events WHERE id = $1", id).Scan(&at); err != nil {
		t.Fatal(err)
	}
	return at
}

// sample is an event that is accepted.
func sample(aggregate string) Event {
	return Event{Type: OrderCreated, AggregateType: AggregateVendorOrder, AggregateID: aggregate, Data: json.RawMessage(`{"total": 12.50}`)}
}
