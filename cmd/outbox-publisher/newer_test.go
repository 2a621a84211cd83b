package main

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"outboxrelay/deploy/local/postgres/postgrestest"
)

// A newer version has migrated the database, and was rolled back: what is there is told of, up has
// nothing to do, and down says who can take it back.
func TestMigrateTellsOfANewerVersionsMigrations(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	env := map[string]string{"DATABASE_URL": url}
	if code, _, stderr := runProgram(t, env, "migrate", "up"); code != 0 {
		t.Fatal(stderr)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "INSERT INTO outbox_goose_db_version (version_id, is_applied) VALUES (6, true)"); err != nil {
		t.Fatal(err)
	}
	const told = "the database is at 6, and this version knows migrations up to 4"
	for _, step := range []struct {
		args []string
		code int
	}{
		{[]string{"migrate", "status"}, 0},
		{[]string{"migrate", "up"}, 0},
		{[]string{"migrate", "down"}, 1},
		{[]string{"migrate", "down", "--to", "3"}, 1},
	} {
		code, stdout, stderr := runProgram(t, env, step.args...)
		if code != step.code || !strings.Contains(stdout+stderr, told) {
			t.Errorf("%v ends with %d, want %d and %q in:\n%s%s", step.args, code, step.code, told, stdout, stderr)
		}
	}
}
