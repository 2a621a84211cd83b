package main

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"outboxrelay/deploy/local/postgres/postgrestest"
)

// Of rows that row-level security hides no command says that they are not there.
func TestCommandsTellOfRowSecurity(t *testing.T) {
	t.Parallel()
	url, id, role := postgrestest.Database(t), uuid.New(), "publisher_"+strings.ReplaceAll(uuid.NewString(), "-", "")
	if code, _, stderr := runProgram(t, map[string]string{"DATABASE_URL": url}, "migrate", "up"); code != 0 {
		t.Fatal(stderr)
	}
	execute(t, url, insertSQL, id, 10, nil)
	execute(t, url, "CREATE ROLE "+role)
	defer func() {
		execute(t, url, "DROP OWNED BY "+role)
		execute(t, url, "DROP ROLE "+role)
	}()
	execute(t, url, "GRANT SELECT, UPDATE ON outbox_events TO "+role)
	execute(t, url, "ALTER TABLE outbox_events ENABLE ROW LEVEL SECURITY")
	env := map[string]string{"DATABASE_URL": with(url, "role="+role)}
	for _, args := range [][]string{{"list"}, {"retry", id.String()}} {
		if code, stdout, stderr := runProgram(t, env, args...); code == 0 || !strings.Contains(stderr, "row-level security") {
			t.Errorf("%v ends with %d, want an error that tells of row-level security:\n%s%s", args, code, stdout, stderr)
		}
	}
}
