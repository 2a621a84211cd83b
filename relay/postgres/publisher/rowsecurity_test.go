package publisher

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Row-level security hides rows without a word: a publisher to which it hides all would be idle and ready for ever, and one to
// which it hides some would take a later row for its aggregate's head.
func TestNotReadyWhereRowSecurityMayHideRows(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(3, 2)
	f.append(list...)
	o := f.options()
	o.Pool = f.underRowSecurity()
	p, _ := f.start(o)
	f.await("it is not ready, and says why", func() bool {
		err := p.Ready(t.Context())
		return err != nil && strings.Contains(err.Error(), "row-level security")
	})
	if _, err := f.pool.Exec(t.Context(), "ALTER TABLE outbox_events DISABLE ROW LEVEL SECURITY"); err != nil {
		t.Fatal(err)
	}
	f.awaitPublished()
	f.await("it is ready", func() bool { return p.Ready(t.Context()) == nil })
	f.judge(list)
}

// Of rows that it hides nobody is told that they are not there, whatever the caller's pool says of it.
func TestListAndRetryTellOfRowSecurity(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(1, 1)
	f.append(list...)
	pool, ids := f.underRowSecurity(), []uuid.UUID{list[0].id}
	_, listErr := List(t.Context(), pool, false, 10, 10)
	_, retryErr := Retry(t.Context(), pool, ids)
	_, republishErr := Republish(t.Context(), pool, f.shelf, "receipts", ids)
	for name, err := range map[string]error{"list": listErr, "retry": retryErr, "republish": republishErr} {
		if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || !strings.Contains(refused.Message, "row-level security") {
			t.Errorf("%s: error is %v, want one that tells of row-level security", name, err)
		}
	}
	setting := ""
	if err := pool.QueryRow(t.Context(), "SHOW row_security").Scan(&setting); err != nil || setting != "on" {
		t.Errorf("the caller's connection is left with row_security %s: %v", setting, err)
	}
}

// underRowSecurity is a pool of a role to which row-level security shows nothing. Both end with the test.
func (f *fixture) underRowSecurity() *pgxpool.Pool {
	f.Helper()
	role := pgx.Identifier{"publisher_" + uuid.NewString()[:13]}.Sanitize()
	execute := func(sql string) {
		f.Helper()
		if _, err := f.pool.Exec(context.WithoutCancel(f.Context()), sql); err != nil {
			f.Fatalf("%s: %v", sql, err)
		}
	}
	execute("CREATE ROLE " + role)
	f.Cleanup(func() { execute("DROP OWNED BY " + role + "; DROP ROLE " + role) })
	execute("DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO " + role + "', current_schema()); END $$")
	execute("GRANT SELECT, UPDATE ON outbox_events TO " + role)
	execute("ALTER TABLE outbox_events ENABLE ROW LEVEL SECURITY")
	return f.connect(func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["role"] = strings.Trim(role, `"`) })
}
