package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/redis"
)

// What a newer version made of an event, before it was rolled back, nobody here knows: it may
// have been handled. Later events of its aggregate wait for it.
func TestEventInAStateOfANewerVersionIsNotHandled(t *testing.T) {
	server := miniredis.RunT(t)
	store := redis.New(open(t, &goredis.Options{Addr: server.Addr()}))
	claim := func(event, token string, version int64) inbox.Verdict {
		t.Helper()
		c, err := store.Claim(t.Context(), inbox.Ask{
			Ref: inbox.Ref{Consumer: "billing", EventID: event, Token: token}, AggregateID: "acc-1", Version: version, Lease: time.Minute, Keep: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		return c.Verdict
	}
	if got := claim("1", "a", 1); got != inbox.Claimed {
		t.Fatal(got)
	}
	for _, key := range server.Keys() {
		if server.Exists(key) && server.Type(key) == "hash" {
			server.HSet(key, "state", "superseded")
		}
	}
	if got := claim("1", "b", 1); got != inbox.Busy {
		t.Errorf("the claim is %v, want it busy", got)
	}
	already, err := store.CheckAndMarkProcessed(t.Context(), "billing", "1", time.Hour)
	if already || err == nil || !strings.Contains(err.Error(), `"superseded"`) {
		t.Errorf("already processed is %v and %v, want an error that names the state", already, err)
	}
	if got := claim("1", "b", 1); got != inbox.Busy {
		t.Errorf("after the short form the claim is %v, want it busy still", got)
	}
	if got := claim("2", "c", 2); got != inbox.Behind {
		t.Errorf("the claim of the next is %v, want it behind", got)
	}
}
