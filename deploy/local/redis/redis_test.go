package redis_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"outboxrelay/deploy/local/redis"
)

func TestMain(m *testing.M) {
	// A client whose server has gone looks for it once a second, and ends at that moment.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

func setup(t *testing.T) (context.Context, string) {
	t.Helper()
	if !redis.Installed() {
		t.Skip("needs Redis: apt-get install redis-server")
	}
	dir, err := os.MkdirTemp("", "redis") //nolint:usetesting // the path of a socket is bounded, and t.TempDir is long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx, dir
}

func TestStartsAgainAtItsURL(t *testing.T) {
	t.Parallel()
	ctx, dir := setup(t)
	for _, settings := range [][]string{{"--appendonly", "yes", "--appendfsync", "always"}, nil} {
		for range 2 {
			server, err := redis.Start(ctx, dir, settings...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Kill)
			o, err := goredis.ParseURL(server.URL())
			if err != nil {
				t.Fatal(err)
			}
			client := goredis.NewClient(o)
			t.Cleanup(func() { client.Close() })
			if err := client.Incr(ctx, "starts").Err(); err != nil {
				t.Error(err)
			}
			if err := server.Ended(); err != nil {
				t.Error(err)
			}
			server.Kill()
		}
	}
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	ctx, dir := setup(t)
	if _, err := redis.Start(ctx, dir, "--no-such-setting", "1"); err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("error is %v, want the setting named", err)
	}
	if _, err := redis.Start(ctx, dir+strings.Repeat("x", 100)); err == nil || !strings.Contains(err.Error(), "take a shorter one") {
		t.Errorf("error is %v, want that the path is too long", err)
	}
}
