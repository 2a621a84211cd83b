package postgres_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"outboxrelay/deploy/local/postgres"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setup returns a folder whose path fits, and a ctx that ends.
func setup(t *testing.T) (context.Context, string) {
	t.Helper()
	if !postgres.Installed() {
		t.Skip("needs Postgres: apt-get install postgresql")
	}
	dir, err := os.MkdirTemp("", "pg") //nolint:usetesting // the path of a socket is bounded, and t.TempDir is long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx, dir
}

func start(ctx context.Context, t *testing.T, dir string, settings ...string) *postgres.Server {
	t.Helper()
	server, err := postgres.Start(ctx, dir, settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	return server
}

func query[T any](ctx context.Context, t *testing.T, url, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var answer T
	if err := conn.QueryRow(ctx, sql).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func execute(ctx context.Context, t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatal(err)
	}
}

// What is committed outlives a kill and a stop, while a client is connected, and the URL stays.
func TestStartsAgainWithItsData(t *testing.T) {
	ctx, dir := setup(t)
	server := start(ctx, t, dir)
	url := server.URL()
	execute(ctx, t, url, "CREATE TABLE kept AS SELECT 1")
	for name, end := range map[string]func(){
		"kill": func() { server.Kill() },
		"stop": func() {
			if err := server.Stop(); err != nil {
				t.Error(err)
			}
		},
	} {
		if err := server.Ended(); err != nil {
			t.Fatal(err)
		}
		client, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		end()
		if server.Ended() == nil {
			t.Fatalf("it runs on after a %s", name)
		}
		server = start(ctx, t, dir)
		if server.URL() != url {
			t.Errorf("its URL is %s now, and was %s", server.URL(), url)
		}
		if n := query[int](ctx, t, url, "SELECT count(*) FROM kept"); n != 1 {
			t.Errorf("%d rows after a %s, want 1", n, name)
		}
		client.Close(ctx)
	}
}

func TestSettings(t *testing.T) {
	ctx, dir := setup(t)
	server := start(ctx, t, dir, append(postgres.Unsafe, "max_connections=33")...)
	for setting, want := range map[string]string{"fsync": "off", "max_connections": "33", "listen_addresses": ""} {
		if got := query[string](ctx, t, server.URL(), "SHOW "+setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	ctx, dir := setup(t)
	for name, c := range map[string]struct{ dir, setting, want string }{
		"a setting": {dir, "max_connections=many", `"many"`},
		"its path":  {filepath.Join(dir, strings.Repeat("x", 100)), "fsync=off", "take a shorter one"},
	} {
		if _, err := postgres.Start(ctx, c.dir, c.setting); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %s", name, err, c.want)
		}
	}
}
