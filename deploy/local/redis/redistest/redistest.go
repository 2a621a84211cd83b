// Package redistest gives tests a Redis: the one that REDIS_URL names, or else one that is started
// for the test alone.
package redistest

import (
	"context"
	"os"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"outboxrelay/deploy/local/redis"
)

// URLVar names the server to use.
const URLVar = "REDIS_URL"

const startsWithin = 2 * time.Minute

// URL is that of a Redis, of which the one of REDIS_URL may hold other keys. A test is skipped where
// there is none.
func URL(t testing.TB) string {
	t.Helper()
	if named := os.Getenv(URLVar); named != "" {
		return named
	}
	if !redis.Installed() {
		t.Skipf("needs Redis: apt-get install redis-server, or set %s", URLVar)
	}
	dir, err := os.MkdirTemp("", "redis") //nolint:usetesting // the path of a socket is bounded, and t.TempDir is long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left is no failure of the test
	ctx, cancel := context.WithTimeout(t.Context(), startsWithin)
	defer cancel()
	server, err := redis.Start(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	return server.URL()
}

// Client is one of that Redis, until the test ends.
func Client(t testing.TB) *goredis.Client {
	t.Helper()
	o, err := goredis.ParseURL(URL(t))
	if err != nil {
		t.Fatalf("%s: %v", URLVar, err)
	}
	client := goredis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() }) // it has nothing to write
	return client
}
