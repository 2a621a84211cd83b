package redis_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/inboxtest"
	"outboxrelay/contracts/inbox/redis"
	"outboxrelay/deploy/local/redis/redistest"
)

func TestConformsOnMiniredis(t *testing.T) {
	server := miniredis.RunT(t)
	client := open(t, &goredis.Options{Addr: server.Addr()})
	inboxtest.Conformance(t, func(*testing.T) inboxtest.Fixture {
		return inboxtest.Fixture{
			Store: redis.New(client),
			Tick:  func() { server.FastForward(10 * time.Millisecond) }, // its keys expire only then
		}
	})
}

func TestConformsOnRedis(t *testing.T) {
	client := redistest.Client(t)
	inboxtest.Conformance(t, func(*testing.T) inboxtest.Fixture { return inboxtest.Fixture{Store: redis.New(client)} })
}

// Other programs look for this key.
func TestKeyOfProcessed(t *testing.T) {
	server := miniredis.RunT(t)
	store := redis.New(open(t, &goredis.Options{Addr: server.Addr()}))
	ask := inbox.Ask{
		Ref:         inbox.Ref{Consumer: "billing", EventID: "5c3f4d5e-1111-4222-8333-944445555666", Token: "t"},
		AggregateID: "acc-1", Version: 1, Lease: time.Minute, Keep: time.Hour,
	}
	if c, err := store.Claim(t.Context(), ask); err != nil || c.Verdict != inbox.Claimed {
		t.Fatal(c, err)
	}
	const key = "pf:evt:processed:billing:5c3f4d5e-1111-4222-8333-944445555666"
	if server.Exists(key) {
		t.Error("it is marked processed while it is being handled")
	}
	if err := store.Settle(t.Context(), ask.Ref, inbox.EndProcessed, inbox.DefaultRetention); err != nil {
		t.Fatal(err)
	}
	if ttl := server.TTL(key); ttl != inbox.DefaultRetention {
		t.Errorf("it is kept for %v, want %v", ttl, inbox.DefaultRetention)
	}
	if keys := server.Keys(); len(keys) != 1 {
		t.Errorf("what is left are %v, want the mark alone", keys)
	}
}

// docs/CONSUMERS.md has them deleted after a restore of Redis: what was open then has been
// acknowledged since, and nobody ends it.
func TestLaterEventsWaitForKeysOfOpen(t *testing.T) {
	server := miniredis.RunT(t)
	store := redis.New(open(t, &goredis.Options{Addr: server.Addr()}))
	claimed := func(event string, version int64) inbox.Verdict {
		c, err := store.Claim(t.Context(), inbox.Ask{
			Ref: inbox.Ref{Consumer: "billing", EventID: event, Token: "t" + event}, AggregateID: "acc-1", Version: version, Lease: time.Minute, Keep: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		return c.Verdict
	}
	if first, second := claimed("1", 1), claimed("2", 2); first != inbox.Claimed || second != inbox.Behind {
		t.Fatalf("claims are %v and %v, want the second behind the first", first, second)
	}
	if !server.Del("pf:evt:open:billing:acc-1") {
		t.Errorf("there is no such key, but %v", server.Keys())
	}
	if second := claimed("2", 2); second != inbox.Claimed {
		t.Errorf("without the key the claim is %v", second)
	}
}

func open(t testing.TB, o *goredis.Options) *goredis.Client {
	t.Helper()
	client := goredis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	return client
}

func BenchmarkRedis(b *testing.B) {
	inboxtest.Benchmark(b, redis.New(redistest.Client(b)), inbox.Options{})
}
