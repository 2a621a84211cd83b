package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/inboxtest"
)

func TestConforms(t *testing.T) {
	store, _ := open(t)
	inboxtest.Conformance(t, func(*testing.T) inboxtest.Fixture { return inboxtest.Fixture{Store: store} })
}

func TestSweepRemovesWhatIsPastItsTime(t *testing.T) {
	store, pool := open(t)
	for _, event := range []string{"a", "b", "c", "d"} {
		if _, err := store.CheckAndMarkProcessed(t.Context(), "billing", event, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pool.Exec(t.Context(), "UPDATE inbox_events SET expires_at = now() WHERE event_id <> 'd'"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{2, 1, 0} {
		if n, err := store.Sweep(t.Context(), 2); err != nil || n != want {
			t.Errorf("removed %d and %v, want %d", n, err, want)
		}
	}
	var left int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM inbox_events").Scan(&left); err != nil || left != 1 {
		t.Errorf("%d events are left and %v, want the one whose time is not over", left, err)
	}
	if already, err := store.CheckAndMarkProcessed(t.Context(), "billing", "d", inbox.DefaultRetention); err != nil || !already {
		t.Errorf("it is forgotten: %v", err)
	}
}

func TestTransactions(t *testing.T) {
	store, pool := open(t)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE effects (event_id text)"); err != nil {
		t.Fatal(err)
	}
	inboxtest.Transactions(t, func(*testing.T) inboxtest.Ledger[pgx.Tx] {
		return inboxtest.Ledger[pgx.Tx]{
			Store: store,
			Write: func(ctx context.Context, tx pgx.Tx, eventID string) error {
				_, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1)", eventID)
				return err
			},
			Effects: func(t *testing.T, eventID string) (n int) {
				t.Helper()
				if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM effects WHERE event_id = $1", eventID).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			},
		}
	})
}

func BenchmarkPostgres(b *testing.B) {
	store, _ := open(b)
	inboxtest.Benchmark(b, store, inbox.Options{})
}
