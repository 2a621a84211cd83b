package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/inboxtest"
)

// What a database has as its default is its users' choice.
func TestConformsWhateverTheDefaultIsolation(t *testing.T) {
	for _, isolation := range []string{"repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			store, _ := openWith(t, isolation)
			inboxtest.Conformance(t, func(*testing.T) inboxtest.Fixture { return inboxtest.Fixture{Store: store} })
		})
	}
}

// A claim that waited for that of an older event sees it.
func TestClaimSeesWhatItWaitedFor(t *testing.T) {
	for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			store, pool := openWith(t, isolation)
			second := newAsk(time.Hour)
			second.Version = 2
			tx, err := pool.Begin(t.Context()) // as the claim of the first is under way
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
			if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", second.Consumer+"\x1f"+second.AggregateID); err != nil {
				t.Fatal(err)
			}
			type answer struct {
				c   inbox.Claim
				err error
			}
			answered := make(chan answer, 1)
			go func() {
				c, err := store.Claim(t.Context(), second)
				answered <- answer{c, err}
			}()
			deadline := time.Now().Add(patience)
			for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
				const sql = "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted"
				if err := pool.QueryRow(t.Context(), sql).Scan(&waiting); err != nil || time.Now().After(deadline) {
					t.Fatalf("the claim of the second does not wait for that of the first: %v", err)
				}
			}
			if _, err := tx.Exec(t.Context(), `
				INSERT INTO inbox_events (consumer, event_id, aggregate_id, version, state, token, lease_until, next_attempt_at, expires_at)
				VALUES ($1, $2, $3, 1, 'claimed', 'x', clock_timestamp() + interval '1 hour', '-infinity', clock_timestamp() + interval '1 hour')`,
				second.Consumer, uuid.NewString(), second.AggregateID); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := <-answered; got.err != nil || got.c.Verdict != inbox.Behind {
				t.Errorf("got %v and %v, want it behind the first", got.c.Verdict, got.err)
			}
		})
	}
}
