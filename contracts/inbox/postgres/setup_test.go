package postgres_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/contracts/inbox/postgres"
)

// urlVar names a Postgres for these tests; without it they start one of their own, where
// initdb and postgres are installed.
const urlVar = "DATABASE_URL"

// open returns a store in a database schema of its own.
func open(t testing.TB) (*postgres.Store, *pgxpool.Pool) {
	t.Helper()
	url := os.Getenv(urlVar)
	if url == "" {
		url = start(t)
	}
	schema := "inbox_" + uuid.NewString()[:8]
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.RuntimeParams["search_path"] = schema
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	name := pgx.Identifier{schema}.Sanitize()
	if _, err := pool.Exec(t.Context(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Exec(context.Background(), "DROP SCHEMA "+name+" CASCADE") })
	store := postgres.New(pool)
	for range 2 { // again is a no-op
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return store, pool
}

// start starts a Postgres until the test's end, on a socket of its own.
func start(t testing.TB) string {
	t.Helper()
	initdb, server := find("initdb"), find("postgres")
	if initdb == "" || server == "" {
		t.Skipf("Postgres is not installed, and %s is not set", urlVar)
	}
	dir, err := os.MkdirTemp("", "pg") //nolint:usetesting // the path of a socket is bounded, and t.TempDir is long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	as := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // as root it refuses to run
		const nobody = 65534
		as.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	run := exec.Command(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
	run.SysProcAttr, run.Dir = as, dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	cmd := exec.Command(server, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	cmd.SysProcAttr, cmd.Dir = as, dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGQUIT)
		cmd.Wait()
	})
	url := fmt.Sprintf("host=%s user=postgres dbname=postgres", dir)
	for deadline := time.Now().Add(time.Minute); ; {
		conn, err := pgx.Connect(t.Context(), url)
		if err == nil {
			conn.Close(t.Context())
			return url
		}
		if time.Now().After(deadline) {
			t.Fatalf("Postgres does not answer: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// find looks in the path and where Debian has it; "" where it is not installed.
func find(program string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}
