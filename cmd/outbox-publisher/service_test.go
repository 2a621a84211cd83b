package main

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/postgres/postgrestest"
)

// A connection that does not come back, as of a database that hangs, holds up no stop beyond its deadline.
func TestCloseIsBoundByItsDeadline(t *testing.T) {
	t.Parallel()
	env := shell.LookupIn(map[string]string{envDatabase: postgrestest.Database(t)})
	pool, err := databaseFlags{}.open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &service{log: zap.NewNop(), pool: pool}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.close(over) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it waits for the connection")
	}
	conn.Release()
	pool.Close() // waits for what close has left
}
