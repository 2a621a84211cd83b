package migrations

import (
	"context"
	"testing"

	"outboxrelay/deploy/local/postgres/postgrestest"
)

// An index that is made beside transactions stays invalid where its making is interrupted. The next try makes it anew,
// also where that was interrupted as well, between its steps.
func TestInterruptedIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]string{
		"at once":                  "",
		"interrupted in its clean": "ALTER INDEX outbox_events_claim_idx RENAME TO outbox_events_claim_idx_invalid",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, provider := open(t, postgrestest.Database(t))
			ctx := bounded(t)
			if _, err := provider.UpTo(ctx, 3); err != nil {
				t.Fatal(err)
			}
			writer, err := db.BeginTx(ctx, nil) // which the making waits for
			if err != nil {
				t.Fatal(err)
			}
			defer writer.Rollback()
			if _, err := writer.ExecContext(ctx, "LOCK TABLE outbox_events IN ROW EXCLUSIVE MODE"); err != nil {
				t.Fatal(err)
			}
			stopping, stop := context.WithCancel(ctx)
			defer stop()
			ended := make(chan error, 1)
			go func() {
				_, err := provider.Up(stopping)
				ended <- err
			}()
			await(t, db, "SELECT count(*) = 1 FROM pg_index WHERE indrelid = 'outbox_events'::regclass AND NOT indisvalid")
			stop()
			if err := <-ended; err == nil {
				t.Fatal("it was not interrupted")
			}
			await(t, db, "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE 'CREATE INDEX%'")
			if err := writer.Rollback(); err != nil {
				t.Fatal(err)
			}
			if meanwhile != "" {
				execute(t, db, meanwhile)
			}
			if _, err := provider.Up(ctx); err != nil {
				t.Fatal(err)
			}
			var valid, all int
			if err := db.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE indisvalid), count(*) FROM pg_index WHERE indrelid = 'outbox_events'::regclass`).Scan(&valid, &all); err != nil {
				t.Fatal(err)
			}
			if valid != 6 || all != 6 {
				t.Errorf("of %d indexes %d are valid, want 6 of 6", all, valid)
			}
			if left, err := InvalidIndexes(ctx, db); err != nil || len(left) != 0 {
				t.Errorf("said to be invalid are %v: %v", left, err)
			}
		})
	}
}

// What is dropped is of the table's own schema: another on the search path keeps its index.
func TestAnothersIndexIsKept(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	ctx := bounded(t)
	db, shared := open(t, url)
	if _, err := shared.Up(ctx); err != nil {
		t.Fatal(err)
	}
	execute(t, db, "CREATE SCHEMA other")
	_, beside := open(t, inSchema(url, "other,public"))
	if _, err := beside.Up(ctx); err != nil {
		t.Fatal(err)
	}
	var indexes int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM pg_indexes WHERE tablename = 'outbox_events' AND schemaname = 'public'`).Scan(&indexes); err != nil || indexes != 6 {
		t.Errorf("%d indexes are left, want 6: %v", indexes, err)
	}
}
