package main

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/postgres/postgrestest"
)

// A server that takes a connection and says nothing, as one does that hangs or whose host is gone, keeps nobody from what the
// address, or the next one of the URL, leads to.
func TestServerThatSaysNothingIsLeft(t *testing.T) {
	t.Parallel()
	config, err := databaseFlags{}.config(shell.LookupIn(map[string]string{envDatabase: postgrestest.Database(t)}))
	if err != nil {
		t.Fatal(err)
	}
	var dials atomic.Int64
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) > 1 {
			return dial(ctx, network, addr)
		}
		silent, theirs := net.Pipe()
		go func() { // until it is closed
			for b := make([]byte, 1<<10); ; {
				if _, err := theirs.Read(b); err != nil {
					return
				}
			}
		}()
		return silent, nil
	}
	config.MaxConns = 1 // no other connection is tried beside
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // of the two that a pool would wait
	defer cancel()
	for {
		if err = pool.Ping(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		t.Errorf("not connected: %v", err)
	}
}

func TestConnectTimeoutOfTheURL(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"postgres://u@localhost/d":                    connectWithin,
		"postgres://u@a,b/d?connect_timeout=33":       33 * time.Second,
		"host=localhost dbname=d connect_timeout=120": 2 * time.Minute,
		"postgres://u@localhost/d?connect_timeout=0":  connectWithin, // to libpq it is without end
	} {
		config, err := databaseFlags{}.config(shell.LookupIn(map[string]string{envDatabase: text}))
		if err != nil || config.ConnConfig.ConnectTimeout != want {
			t.Errorf("%s: %v and %v, want %v", text, config.ConnConfig.ConnectTimeout, err, want)
		}
	}
}
