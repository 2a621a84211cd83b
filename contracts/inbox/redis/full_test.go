package redis_test

import (
	"context"
	"os"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/redis"
	local "outboxrelay/deploy/local/redis"
)

// A Redis that is full takes no new claim, and refuses no script halfway: what is being handled comes to its end.
func TestWhatIsHandledEndsInAFullRedis(t *testing.T) {
	if !local.Installed() {
		t.Skip("needs Redis: apt-get install redis-server")
	}
	dir, err := os.MkdirTemp("", "redis") //nolint:usetesting // the path of a socket is bounded, and t.TempDir is long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left is no failure of the test
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	server, err := local.Start(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	o, err := goredis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := open(t, o)
	store := redis.New(client)
	claim := func(event string) (inbox.Ask, inbox.Verdict, error) {
		ask := inbox.Ask{
			Ref: inbox.Ref{Consumer: "billing", EventID: event, Token: "t"}, AggregateID: "acc-" + event, Version: 1, Lease: time.Minute, Keep: time.Hour,
		}
		c, err := store.Claim(t.Context(), ask)
		return ask, c.Verdict, err
	}
	done, _, errDone := claim("done")
	died, _, errDied := claim("died")
	failed, _, errFailed := claim("failed")
	if errDone != nil || errDied != nil || errFailed != nil {
		t.Fatal(errDone, errDied, errFailed)
	}
	full := func(bytes string) {
		t.Helper()
		if err := client.ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	full("1")
	if err := store.Settle(t.Context(), done.Ref, inbox.EndProcessed, time.Hour); err != nil {
		t.Errorf("processed: %v", err)
	}
	if err := store.Settle(t.Context(), died.Ref, inbox.EndDead, time.Hour); err != nil {
		t.Errorf("dead: %v", err)
	}
	if err := store.GiveBack(t.Context(), failed.Ref, contracts.AttemptError{Code: "X"}, time.Hour); err == nil {
		t.Error("given back, want an error")
	}
	if _, got, err := claim("new"); err == nil {
		t.Errorf("a new event is %v, want an error", got)
	}
	if already, err := store.CheckAndMarkProcessed(t.Context(), "billing", "marked", time.Hour); already || err == nil {
		t.Errorf("the short form: %v, %v, want an error", already, err)
	}
	full("0")
	for event, want := range map[string]inbox.Verdict{"done": inbox.Processed, "died": inbox.Dead, "failed": inbox.Claimed, "new": inbox.Claimed, "marked": inbox.Claimed} {
		if _, got, err := claim(event); err != nil || got != want {
			t.Errorf("%s is %v with %v, want %v", event, got, err, want)
		}
	}
}
