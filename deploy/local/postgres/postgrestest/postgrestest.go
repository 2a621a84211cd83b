// Package postgrestest gives each test a Postgres database of its own: on the server that
// DATABASE_URL names, or else on one that is started once for all tests of a package.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main(m)) }
//
//	func TestX(t *testing.T) {
//		pool, err := pgxpool.New(t.Context(), postgrestest.Database(t))
package postgrestest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"outboxrelay/deploy/local/postgres"
)

// URLVar names the server to use. Its user may create databases.
const URLVar = "DATABASE_URL"

// within bounds each of: the start of the server, the making and the removal of a database.
const within = 2 * time.Minute

// shared is the server of this test binary.
var shared struct {
	sync.Mutex
	dir    string
	server *postgres.Server
}

// Runner is a testing.M, or what wraps one.
type Runner interface{ Run() int }

// Main returns what runs the tests of m and then stops the server that they used.
func Main(m Runner) Runner { return stopping{m} }

type stopping struct{ Runner }

func (s stopping) Run() int {
	defer stop()
	return s.Runner.Run()
}

func stop() {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.Kill() // its databases are of no more use
		shared.server = nil
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir) // what is left of it is no failure of a test
	}
}

// Database is the URL of an empty database, which is removed when the test ends. A test is skipped
// where there is no Postgres. The TestMain of its package calls Main.
func Database(t testing.TB) string {
	t.Helper()
	return create(t, "")
}

// DatabaseIn is Database in an encoding of its own, such as LATIN1.
func DatabaseIn(t testing.TB, encoding string) string {
	t.Helper()
	return create(t, fmt.Sprintf(" ENCODING '%s' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'", encoding)) // other locales have one encoding
}

func create(t testing.TB, how string) string {
	t.Helper()
	server := Server(t)
	name := "test_" + uuid.NewString()[:13]
	identifier := pgx.Identifier{name}.Sanitize()
	execute(t, server, "CREATE DATABASE "+identifier+how)
	t.Cleanup(func() { execute(t, server, "DROP DATABASE "+identifier+" WITH (FORCE)") })
	u, err := databaseURL(server, name)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Server is the URL of the server on which Database makes its databases.
func Server(t testing.TB) string {
	t.Helper()
	if named := os.Getenv(URLVar); named != "" {
		return named
	}
	if !postgres.Installed() {
		t.Skipf("needs Postgres: apt-get install postgresql, or set %s", URLVar)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		return shared.server.URL()
	}
	var err error
	if shared.dir, err = os.MkdirTemp("", "pg"); err != nil { //nolint:usetesting // it serves other tests, too
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if shared.server, err = postgres.Start(ctx, shared.dir, append(postgres.Unsafe, "max_connections=300")...); err != nil {
		t.Fatal(err)
	}
	return shared.server.URL()
}

// databaseURL is the URL of another database of the same server, which is named by a URL or by
// words such as host=localhost.
func databaseURL(server, name string) (string, error) {
	if !strings.Contains(server, "://") {
		return server + " dbname=" + name, nil // the last one counts
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("%s is no URL", URLVar) // its text may hold a password
	}
	u.Path = "/" + name
	return u.String(), nil
}

func execute(t testing.TB, server, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("connect to Postgres: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }() // what it was for is done
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
