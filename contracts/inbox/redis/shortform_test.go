package redis_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	"outboxrelay/contracts/inbox/redis"
)

// deaf is a connection that loses the next answer, and is over then, once it is told to.
type deaf struct {
	net.Conn
	lose *atomic.Bool
}

func (c deaf) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.lose.CompareAndSwap(true, false) {
		c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}

// Whoever marked an event and did not hear of it was the first all the same: told that it is
// processed, nobody would handle it.
func TestMarkWhoseAnswerIsLostIsItsOwn(t *testing.T) {
	server, lose := miniredis.RunT(t), &atomic.Bool{}
	store := redis.New(open(t, &goredis.Options{Addr: server.Addr(), Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return deaf{conn, lose}, err
	}}))
	mark := func(eventID string, want bool) {
		t.Helper()
		if already, err := store.CheckAndMarkProcessed(t.Context(), "c", eventID, time.Hour); err != nil || already != want {
			t.Errorf("already processed is %v and %v, want %v", already, err, want)
		}
	}
	mark("another", false) // the connection stands, and the script is known
	lose.Store(true)
	mark("e", false)
	if lose.Load() {
		t.Error("no answer was lost")
	}
	mark("e", true)
}
