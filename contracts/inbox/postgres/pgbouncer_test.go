package postgres_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"outboxrelay/contracts/inbox/inboxtest"
	"outboxrelay/deploy/local/child"
)

// pgbouncer starts a PgBouncer that pools by transaction before the database of config, and leads config to it. Its
// test is skipped where none is installed.
func pgbouncer(t *testing.T, config *pgx.ConnConfig) {
	t.Helper()
	path := child.Installed("pgbouncer", "/usr/sbin/pgbouncer")
	if path == "" {
		t.Skip("needs PgBouncer: apt-get install pgbouncer")
	}
	dir := folder(t)
	as, err := child.Unprivileged(dir)
	if err != nil {
		t.Fatal(err)
	}
	password := ""
	if config.Password != "" {
		password = " password=" + config.Password
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	settings := fmt.Sprintf(`[databases]
* = host=%s port=%d user=%s%s
[pgbouncer]
listen_port = 5432
unix_socket_dir = %s
auth_type = any
pool_mode = transaction
default_pool_size = 4
`, config.Host, config.Port, config.User, password, dir)
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	pooler, err := child.Start(child.Spec{Name: "PgBouncer", Path: path, Args: []string{file}, Dir: dir, As: as, StopWith: syscall.SIGINT})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pooler.Kill)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, ".s.PGSQL.5432"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := pooler.Answers(ctx, func(ctx context.Context) error {
		conn, err := dial(ctx, "", "")
		if err != nil {
			return err
		}
		return conn.Close()
	}); err != nil {
		t.Fatal(err)
	}
	config.DialFunc, config.TLSConfig, config.Fallbacks = dial, nil, nil
}

// docs/CONSUMERS.md: a pooler by transaction is no hindrance where no statement is prepared.
func TestConformsThroughPgBouncer(t *testing.T) {
	store, _ := openAs(t, func(c *pgx.ConnConfig) {
		pgbouncer(t, c)
		c.DefaultQueryExecMode = pgx.QueryExecModeExec
	})
	inboxtest.Conformance(t, func(*testing.T) inboxtest.Fixture { return inboxtest.Fixture{Store: store} })
}
