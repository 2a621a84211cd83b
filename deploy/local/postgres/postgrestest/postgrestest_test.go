package postgrestest

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(Main(m)) }

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	for range 2 {
		t.Run("", func(t *testing.T) {
			conn, err := pgx.Connect(t.Context(), Database(t))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			if _, err := conn.Exec(t.Context(), "CREATE TABLE mine (n int)"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDatabaseURL(t *testing.T) {
	for server, want := range map[string]string{
		"postgres://me:secret@host:5433/postgres?sslmode=disable": "postgres://me:secret@host:5433/other?sslmode=disable",
		"postgres:///postgres?host=/run/pg":                       "postgres:///other?host=/run/pg",
		"host=/run/pg dbname=postgres":                            "host=/run/pg dbname=postgres dbname=other",
	} {
		if got, err := databaseURL(server, "other"); err != nil || got != want {
			t.Errorf("of %s: %s and %v, want %s", server, got, err, want)
		}
	}
}
