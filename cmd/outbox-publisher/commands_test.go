package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/postgres/postgrestest"
	"outboxrelay/relay/postgres/publisher"
)

// execute runs SQL on a database.
func execute(t *testing.T, url, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

const insertSQL = `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, attempt_count, last_error)
	VALUES ($1, 'order_created', 'vendor_order', $1, '{}', $2, $3)`

func TestMigrate(t *testing.T) {
	t.Parallel()
	env := map[string]string{"DATABASE_URL": postgrestest.Database(t)}
	for _, step := range []struct {
		args []string
		want []string
	}{
		{[]string{"migrate", "up", "--to", "1"}, []string{"up 1 (", "the database is at 1"}},
		{[]string{"migrate", "status"}, []string{"00001_outbox_events.sql", "applied", "00004_claim_index.sql", "pending"}},
		{[]string{"migrate", "up"}, []string{"up 2 (", "up 4 (", "the database is at 4"}},
		{[]string{"migrate", "up"}, []string{"the database is at 4"}},
		{[]string{"migrate", "down"}, []string{"down 4 (", "the database is at 3"}},
		{[]string{"migrate", "down", "--to", "0"}, []string{"down 1 (", "the database is at 0"}},
	} {
		code, stdout, stderr := runProgram(t, env, step.args...)
		for _, want := range step.want {
			if code != 0 || !strings.Contains(stdout, want) {
				t.Fatalf("%v ends with %d, want %q in:\n%s%s", step.args, code, want, stdout, stderr)
			}
		}
	}
}

// A target that there is none of changes nothing: "up --to 0" is not all, and "down --to -2" is not the last one.
func TestMigrateRefusesATargetThatIsNone(t *testing.T) {
	t.Parallel()
	env := map[string]string{"DATABASE_URL": postgrestest.Database(t)}
	if code, _, stderr := runProgram(t, env, "migrate", "up", "--to", "2"); code != 0 {
		t.Fatal(stderr)
	}
	for _, args := range [][]string{
		{"migrate", "up", "--to", "0"},
		{"migrate", "up", "--to=-1"},
		{"migrate", "up", "--to", "5"},
		{"migrate", "down", "--to=-1"},
		{"migrate", "down", "--to=-2"},
		{"migrate", "down", "--to", "5"},
	} {
		if code, stdout, stderr := runProgram(t, env, args...); code != 2 || !strings.Contains(stderr, "--to is") {
			t.Errorf("%v ends with %d:\n%s%s", args, code, stdout, stderr)
		}
	}
	if code, stdout, stderr := runProgram(t, env, "migrate", "up", "--to", "2"); code != 0 || !strings.Contains(stdout, "the database is at 2") {
		t.Errorf("it ends with %d:\n%s%s", code, stdout, stderr)
	}
}

// An index that an earlier version left invalid is told of, and so is what mends it.
func TestMigrateTellsOfAnInvalidIndex(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	env := map[string]string{"DATABASE_URL": url}
	const told = "index outbox_events_waiting_idx is not valid"
	for _, step := range []struct {
		args []string
		sql  string // before it
		told bool
	}{
		{args: []string{"migrate", "up"}},
		{[]string{"migrate", "status"}, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'outbox_events_waiting_idx'::regclass", true},
		{args: []string{"migrate", "up"}, told: true},
		{args: []string{"migrate", "down", "--to", "3"}},
		{args: []string{"migrate", "up"}},
		{args: []string{"migrate", "status"}},
	} {
		if step.sql != "" {
			execute(t, url, step.sql)
		}
		if code, stdout, stderr := runProgram(t, env, step.args...); code != 0 || strings.Contains(stdout, told) != step.told {
			t.Fatalf("%v ends with %d, and tells of the index, want %v:\n%s%s", step.args, code, step.told, stdout, stderr)
		}
	}
}

func TestListAndRetry(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	env := map[string]string{"DATABASE_URL": url, "PACKFINDERZ_OUTBOX_MAX_ATTEMPTS": "3"}
	if code, _, stderr := runProgram(t, env, "migrate", "up"); code != 0 {
		t.Fatal(stderr)
	}
	parked, waiting := uuid.New(), uuid.New()
	execute(t, url, insertSQL, parked, 3, "InvalidArgument: \x1b[31mno")
	execute(t, url, insertSQL, waiting, 0, nil)
	code, stdout, stderr := runProgram(t, env, "list")
	for _, want := range []string{parked.String(), waiting.String(), "parked", "waiting"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, want %q in:\n%s%s", code, want, stdout, stderr)
		}
	}
	if strings.Contains(stdout, "\x1b") {
		t.Error("what others wrote draws on the terminal")
	}
	list := func() (rows []publisher.Waiting) {
		_, stdout, _ := runProgram(t, env, "list", "--parked", "--json")
		if err := json.Unmarshal([]byte(stdout), &rows); err != nil {
			t.Fatalf("%v in %s", err, stdout)
		}
		return rows
	}
	if rows := list(); len(rows) != 1 || rows[0].ID != parked || rows[0].Attempts != 3 {
		t.Errorf("parked are %+v", rows)
	}
	if code, stdout, stderr := runProgram(t, env, "retry", parked.String()); code != 0 || !strings.Contains(stdout, "1 of 1 rows are tried again") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if rows := list(); len(rows) != 0 {
		t.Errorf("parked are %+v", rows)
	}
	missing := uuid.NewString()
	code, _, stderr = runProgram(t, env, "retry", parked.String(), missing)
	if code != shell.ExitNotFound || !strings.Contains(stderr, "row "+missing+": published already, or not there") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A database that is not there is told, and its password is not.
func TestDatabaseOutOfReach(t *testing.T) {
	t.Parallel()
	env := map[string]string{"DATABASE_URL": "postgres://shop:s3cret@127.0.0.1:1/shop?connect_timeout=5"}
	for _, args := range [][]string{{"list"}, {"migrate", "status"}, {"retry", uuid.NewString()}} {
		code, _, stderr := runProgram(t, env, args...)
		if code != shell.ExitFailed || strings.Contains(stderr, "s3cret") || stderr == "" {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
}
