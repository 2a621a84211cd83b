package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/postgres"
)

// patience is how long what should come is waited for.
const patience = time.Minute

func newAsk(lease time.Duration) inbox.Ask {
	return inbox.Ask{
		Ref:         inbox.Ref{Consumer: "billing", EventID: uuid.NewString(), Token: uuid.NewString()},
		AggregateID: uuid.NewString(), Version: 1, Lease: lease, Keep: time.Hour,
	}
}

// claimed asks, each time with a new token, until the event is claimed.
func claimed(t *testing.T, store *postgres.Store, ask inbox.Ask) inbox.Ask {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		ask.Token = uuid.NewString()
		c, err := store.Claim(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if c.Verdict == inbox.Claimed {
			return ask
		}
		if time.Now().After(deadline) {
			t.Fatalf("verdict stays %v, want it claimed", c.Verdict)
		}
		time.Sleep(time.Millisecond)
	}
}

func withEffects(t *testing.T, isolation string) (*postgres.Store, *pgxpool.Pool) {
	t.Helper()
	store, pool := openWith(t, isolation)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE effects (event_id text)"); err != nil {
		t.Fatal(err)
	}
	return store, pool
}

func wantEffects(t *testing.T, pool *pgxpool.Pool, eventID string, want int) {
	t.Helper()
	n := 0
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM effects WHERE event_id = $1", eventID).Scan(&n); err != nil || n != want {
		t.Errorf("%d effects and %v, want %d", n, err, want)
	}
}

// Several claims of one event, each taken over from the one before while its handler runs: all
// handlers have written when the first of them returns, and one effect stays.
func TestOneOfTheHandlersOfAnEventCommits(t *testing.T) {
	for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) { oneOfTheHandlersCommits(t, isolation) })
	}
}

func oneOfTheHandlersCommits(t *testing.T, isolation string) {
	store, pool := withEffects(t, isolation)
	for round := range 5 {
		ask, release := newAsk(time.Millisecond), make(chan struct{})
		ends := make(chan error, 8)
		for range cap(ends) {
			ask = claimed(t, store, ask)
			wrote := make(chan error, 1)
			go func(ref inbox.Ref) {
				ends <- store.Within(context.WithoutCancel(t.Context()), ref, time.Hour, func(ctx context.Context, tx pgx.Tx) error {
					_, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1)", ref.EventID)
					wrote <- err
					<-release
					return err
				})
			}(ask.Ref)
			if err := <-wrote; err != nil {
				t.Fatal(err)
			}
		}
		close(release)
		committed := 0
		for range cap(ends) {
			if err := <-ends; err == nil {
				committed++
			} else if !errors.Is(err, inbox.ErrLost) && isolation == "read committed" { // the others have an error of their own for it
				t.Errorf("round %d: %v", round, err)
			}
		}
		if committed != 1 {
			t.Errorf("round %d: %d transactions say that they committed, want 1", round, committed)
		}
		wantEffects(t, pool, ask.EventID, 1)
	}
}

// While handlers return, others take their event over: whoever commits is the only one.
func TestTakeoverDuringCommits(t *testing.T) {
	store, pool := withEffects(t, "read committed")
	for range 20 {
		ask := newAsk(time.Microsecond)
		var wg sync.WaitGroup
		committed := make(chan string, 16)
		for range cap(committed) {
			wg.Go(func() {
				mine := ask
				mine.Token = uuid.NewString()
				if c, err := store.Claim(t.Context(), mine); err != nil || c.Verdict == inbox.Processed {
					return // those who find its lease running go on as one whose claim was lost
				}
				err := store.Within(t.Context(), mine.Ref, time.Hour, func(ctx context.Context, tx pgx.Tx) error {
					_, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1)", ask.EventID)
					return err
				})
				switch {
				case err == nil:
					committed <- mine.Token
				case !errors.Is(err, inbox.ErrLost):
					t.Errorf("handle: %v", err)
				}
			})
		}
		wg.Wait()
		if len(committed) > 1 {
			t.Errorf("%d transactions say that they committed, want 1 at most", len(committed))
		}
		wantEffects(t, pool, ask.EventID, len(committed))
	}
}

// A transaction may take long: what asks for its event meanwhile is told so at once.
func TestDuplicateOfALongTransactionIsTold(t *testing.T) {
	store, pool := withEffects(t, "read committed")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ask := claimed(t, store, newAsk(time.Hour))
	err := store.Within(ctx, ask.Ref, time.Hour, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1)", ask.EventID); err != nil {
			return err
		}
		duplicate := ask
		duplicate.Token = uuid.NewString()
		if c, err := store.Claim(ctx, duplicate); err != nil || c.Verdict != inbox.Busy {
			t.Errorf("a duplicate is told %v and %v, want that another handles it", c.Verdict, err)
		}
		if err := store.GiveBack(ctx, ask.Ref, contracts.AttemptError{Code: inbox.CodeHanging}, 0); err != nil {
			t.Errorf("it cannot be given back while its handler runs: %v", err)
		}
		return nil
	})
	if !errors.Is(err, inbox.ErrLost) {
		t.Errorf("got %v from the handler of what was given back, want ErrLost", err)
	}
	wantEffects(t, pool, ask.EventID, 0)
}

// A handler that hangs is counted, and what its transaction held is free: the pool's only connection,
// and a row that the next try needs.
func TestHangingTransactionIsCountedAndEnded(t *testing.T) {
	for name, hang := range map[string]func(release <-chan struct{}, tx pgx.Tx){
		"beside the database": func(release <-chan struct{}, _ pgx.Tx) { <-release },
		"in a query": func(release <-chan struct{}, tx pgx.Tx) {
			_, _ = tx.Exec(context.Background(), "SELECT pg_sleep(120)")
			<-release
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, pool := withEffects(t, "read committed")
			eventID := uuid.NewString()
			if _, err := pool.Exec(t.Context(), "INSERT INTO effects VALUES ('wallet')"); err != nil {
				t.Fatal(err)
			}
			config := pool.Config()
			config.MaxConns = 1
			only, err := pgxpool.NewWithConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(only.Close)
			release, store := make(chan struct{}), postgres.New(only)
			defer close(release)
			box := inbox.New(store, "billing", inbox.Options{
				Timeout: 10 * time.Millisecond, Grace: time.Second, Delays: []time.Duration{time.Millisecond}, Log: slog.New(slog.DiscardHandler),
			})
			var tries atomic.Int64
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for !inbox.DeliverIn(ctx, box, store, envelope(eventID), nil, func(_ context.Context, tx pgx.Tx, e *inbox.Event) error {
				tries.Add(1)
				if e.Attempt > 1 {
					_, err := tx.Exec(context.Background(), "UPDATE effects SET event_id = $1 WHERE event_id = 'wallet'", e.EventID)
					return err
				}
				if _, err := tx.Exec(context.Background(), "UPDATE effects SET event_id = 'nothing' WHERE event_id = 'wallet'"); err != nil {
					return err
				}
				hang(release, tx)
				return nil
			}) {
				if ctx.Err() != nil {
					t.Fatalf("called %d times, want it handled once the hang is counted", tries.Load())
				}
			}
			wantEffects(t, pool, eventID, 1)
		})
	}
}

func envelope(eventID string) []byte {
	return fmt.Appendf(nil, `{"event_id": %q, "event_name": "Paid", "event_version": 1, "occurred_at": "2026-02-19T12:00:00Z", "producer": "p", "trace_id": "t",
		"idempotency_key": "%[1]s:acc-1:1", "aggregate_id": "acc-1", "aggregate_version": 1, "payload": {}}`, eventID)
}
