package publisher

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Row-level security hides rows without a word: a publisher to which it hides all would be idle and ready for ever, and one to
// which it hides some would take a later row for its aggregate's head.
func TestNotReadyWhereRowSecurityMayHideRows(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(3, 2)
	f.append(list...)
	role := pgx.Identifier{"publisher_" + uuid.NewString()[:13]}.Sanitize()
	execute := func(sql string) {
		t.Helper()
		if _, err := f.pool.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	execute("CREATE ROLE " + role)
	t.Cleanup(func() { execute("DROP OWNED BY " + role + "; DROP ROLE " + role) })
	execute("DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO " + role + "', current_schema()); END $$")
	execute("GRANT SELECT, UPDATE ON outbox_events TO " + role)
	execute("ALTER TABLE outbox_events ENABLE ROW LEVEL SECURITY")
	o := f.options()
	o.Pool = f.connect(func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["role"] = strings.Trim(role, `"`) })
	p, _ := f.start(o)
	f.await("it is not ready, and says why", func() bool {
		err := p.Ready(t.Context())
		return err != nil && strings.Contains(err.Error(), "row-level security")
	})
	execute("ALTER TABLE outbox_events DISABLE ROW LEVEL SECURITY")
	f.awaitPublished()
	f.await("it is ready", func() bool { return p.Ready(t.Context()) == nil })
	f.judge(list)
}
