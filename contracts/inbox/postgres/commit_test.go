package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"outboxrelay/contracts"
)

// A commit that fails as others contend, or as the database goes away, is an outage; one that fails for what is in
// it is not. A handler's own statement is an outage where the database asks for the transaction again.
func TestCommitThatPassesIsAnOutage(t *testing.T) {
	store, pool := withEffects(t, "read committed")
	raise := func(name, code string) {
		if _, err := pool.Exec(t.Context(), `
			CREATE TABLE `+name+` (n int);
			CREATE FUNCTION `+name+`() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '`+code+`'; END $$;
			CREATE CONSTRAINT TRIGGER t AFTER INSERT ON `+name+` DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION `+name+`()`); err != nil {
			t.Fatal(err)
		}
	}
	raise("serialization", "40001")
	raise("deadlock", "40P01")
	raise("connection", "08006")
	raise("resources", "53100")
	raise("shutdown", "57P01")
	raise("forgotten", "26000")
	raise("anothers", "42P05")
	raise("integrity", "23505")
	raise("permission", "42501")
	raise("canceled", "57014")
	exec := func(sql string) func(context.Context, pgx.Tx) error {
		return func(ctx context.Context, tx pgx.Tx) error { _, err := tx.Exec(ctx, sql); return err }
	}
	for _, test := range []struct {
		name    string
		handler func(ctx context.Context, tx pgx.Tx) error
		want    contracts.Kind
	}{
		{"a serialization failure", exec("INSERT INTO serialization VALUES (1)"), contracts.Outage},
		{"a deadlock", exec("INSERT INTO deadlock VALUES (1)"), contracts.Outage},
		{"the connection", exec("INSERT INTO connection VALUES (1)"), contracts.Outage},
		{"resources", exec("INSERT INTO resources VALUES (1)"), contracts.Outage},
		{"a shutdown", exec("INSERT INTO shutdown VALUES (1)"), contracts.Outage},
		{"the session is ended once the handler is through", func(ctx context.Context, tx pgx.Tx) error {
			_, err := pool.Exec(ctx, "SELECT pg_terminate_backend($1, 60000)", tx.Conn().PgConn().PID())
			return err
		}, contracts.Outage},
		{"the connection is cut once the handler is through", func(_ context.Context, tx pgx.Tx) error {
			return tx.Conn().PgConn().Conn().Close()
		}, contracts.Outage},
		{"a prepared statement that the session has not", exec("INSERT INTO forgotten VALUES (1)"), contracts.Outage},
		{"a prepared statement of another client", exec("INSERT INTO anothers VALUES (1)"), contracts.Outage},
		{"a handler's prepared statement that the session has not", exec("SET CONSTRAINTS ALL IMMEDIATE; INSERT INTO forgotten VALUES (1)"), contracts.Outage},
		{"a deferred constraint", exec("INSERT INTO integrity VALUES (1)"), contracts.Attributable},
		{"permission", exec("INSERT INTO permission VALUES (1)"), contracts.Attributable},
		{"a commit that takes too long", exec("INSERT INTO canceled VALUES (1)"), contracts.Attributable},
		{"a handler that swallows its error", func(ctx context.Context, tx pgx.Tx) error {
			_, _ = tx.Exec(ctx, "SELECT 1/0")
			return nil
		}, contracts.Attributable},
		{"a handler's serialization failure", exec("SET CONSTRAINTS ALL IMMEDIATE; INSERT INTO serialization VALUES (1)"), contracts.Outage},
		{"a handler's statement that ends its session", exec("SELECT pg_terminate_backend(pg_backend_pid())"), contracts.Attributable},
		{"a handler that fails", func(context.Context, pgx.Tx) error { return errors.New("no") }, contracts.Attributable},
	} {
		t.Run(test.name, func(t *testing.T) {
			ask := claimed(t, store, newAsk(time.Hour))
			err := store.Within(t.Context(), ask.Ref, time.Hour, test.handler)
			if err == nil || contracts.KindOf(err) != test.want {
				t.Errorf("%v is %v, want %v", err, contracts.KindOf(err), test.want)
			}
		})
	}
}
