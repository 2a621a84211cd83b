package migrations

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver
	"github.com/pressly/goose/v3"
	"go.uber.org/goleak"

	"outboxrelay/deploy/local/postgres/postgrestest"
)

// patience is how long what should come is waited for.
const patience = 3 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main(m)) }

// open is a handle on a database, and what migrates it.
func open(t *testing.T, url string) (*sql.DB, *goose.Provider) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	provider, err := New(db)
	if err != nil {
		t.Fatal(err)
	}
	return db, provider
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func execute(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.ExecContext(bounded(t), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// inSchema is the URL of a schema of the database.
func inSchema(url, schema string) string {
	joint := "?"
	if strings.Contains(url, "?") {
		joint = "&"
	}
	return url + joint + "search_path=" + schema
}

// await waits until the database says yes.
func await(t *testing.T, db *sql.DB, ask string) {
	t.Helper()
	ctx := bounded(t)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for yes := false; !yes; <-again.C {
		if err := db.QueryRowContext(ctx, ask).Scan(&yes); err != nil {
			t.Fatalf("%s: %v", ask, err)
		}
	}
}
