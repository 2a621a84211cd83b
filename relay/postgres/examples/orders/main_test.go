package main

import (
	"bytes"
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver
	"go.uber.org/goleak"
	driver "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"outboxrelay/deploy/local/postgres/postgrestest"
	"outboxrelay/relay/postgres/migrations"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main(m)) }

func setup(t *testing.T) (context.Context, string, *sql.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	url := postgrestest.Database(t)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	provider, err := migrations.New(db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx, url, db
}

func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const withEvent = `SELECT count(*) FROM orders o JOIN outbox_events e ON e.aggregate_id = o.id AND (e.payload_json -> 'data' ->> 'total')::float8 = o.total`

func TestOrdersHaveTheirEvents(t *testing.T) {
	ctx, url, db := setup(t)
	var out bytes.Buffer
	if err := run(ctx, []string{"12.50", "7"}, url, &out); err != nil {
		t.Fatal(err)
	}
	g, err := gorm.Open(driver.New(driver.Config{Conn: db}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := placeGORM(ctx, g, order{ID: uuid.NewString(), Total: 1}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, withEvent); n != 3 || strings.Count(out.String(), "is placed, event ") != 2 {
		t.Errorf("%d orders have their event, want 3\n%s", n, out.String())
	}
}

// An order that is there already leaves no event, and neither does an order whose event is refused.
func TestNeitherWithoutTheOther(t *testing.T) {
	ctx, url, db := setup(t)
	if err := run(ctx, []string{"1"}, url, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	o := order{ID: uuid.NewString(), Total: 2}
	for range 2 {
		_, err = place(ctx, pool, o)
	}
	if err == nil {
		t.Error("an order was placed twice")
	}
	if _, err := place(ctx, pool, order{ID: uuid.NewString(), Total: 1e30}); err == nil {
		t.Error("an event that cannot be read was appended")
	}
	if orders, events := count(t, db, "SELECT count(*) FROM orders"), count(t, db, "SELECT count(*) FROM outbox_events"); orders != 2 || events != 2 {
		t.Errorf("%d orders and %d events, want 2 of each", orders, events)
	}
}
