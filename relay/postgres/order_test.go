package postgres

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// A second transaction on an aggregate waits until the first one has ended, and is later then: whoever
// reads what is committed in the order of created_at never meets one before what it has read.
func TestSecondTransactionWaitsForTheFirst(t *testing.T) {
	d := setup(t)
	for name, end := range map[string]func(pgx.Tx) error{
		"commit":   func(tx pgx.Tx) error { return tx.Commit(d.ctx) },
		"rollback": func(tx pgx.Tx) error { return tx.Rollback(d.ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			aggregate := uuid.NewString()
			one := d.begin(t, pgx.TxOptions{})
			first := d.append(t, one, sample(aggregate))[0]
			two := d.begin(t, pgx.TxOptions{})
			second := uuid.New()
			appended := make(chan error, 1)
			go func() {
				event := sample(aggregate)
				event.ID = second
				_, err := Append(d.ctx, two, event)
				appended <- err
			}()
			d.awaitWaiting(t, appended)
			other := d.begin(t, pgx.TxOptions{}) // another aggregate does not wait
			d.append(t, other, sample(uuid.NewString()))
			d.commit(t, other)
			if err := end(one); err != nil {
				t.Fatal(err)
			}
			if err := <-appended; err != nil {
				t.Fatal(err)
			}
			d.commit(t, two)
			want := []uuid.UUID{first, second}
			if name == "rollback" {
				want = want[1:]
			}
			if got := d.inOrder(t, aggregate); !slices.Equal(got, want) {
				t.Errorf("order is %v, want %v", got, want)
			}
		})
	}
}

// awaitWaiting returns once a connection waits for an advisory lock; who is to wait has not appended by
// then.
func (d db) awaitWaiting(t *testing.T, appended <-chan error) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		var waiting int
		err := d.pool.QueryRow(d.ctx, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&waiting)
		switch {
		case err != nil:
			t.Fatalf("nobody waits for a lock: %v", err)
		case waiting == 1:
			return
		}
		select {
		case err := <-appended:
			t.Fatalf("it does not wait: %v", err)
		case <-again.C:
		}
	}
}

// A transaction that began early and appends late is not earlier: created_at is not the time of its begin.
func TestLateAppendOfAnEarlyTransaction(t *testing.T) {
	d := setup(t)
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		aggregate := uuid.NewString()
		early := d.begin(t, pgx.TxOptions{IsoLevel: level})
		if _, err := early.Exec(d.ctx, "SELECT count(*) FROM outbox_events"); err != nil { // its snapshot
			t.Fatal(err)
		}
		late := d.begin(t, pgx.TxOptions{})
		first := d.append(t, late, sample(aggregate))[0]
		d.commit(t, late)
		d.exec(t, "UPDATE outbox_events SET published_at = now() WHERE id = $1", first)
		second := d.append(t, early, sample(aggregate))[0]
		d.commit(t, early)
		if a, b := d.createdAt(t, first), d.createdAt(t, second); !a.Before(b) {
			t.Errorf("%s: the first was created at %v and the second at %v", level, a, b)
		}
	}
}

// The database's clock was set back by an hour, or another took over whose clock is late.
func TestClockThatWasSetBack(t *testing.T) {
	d := setup(t)
	aggregate := uuid.NewString()
	ahead := uuid.New()
	d.exec(t, `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at)
		VALUES ($1, 'order_created', 'vendor_order', $2, '{}', now() + interval '1 hour')`, ahead, aggregate)
	want := []uuid.UUID{ahead}
	for range 3 {
		tx := d.begin(t, pgx.TxOptions{})
		want = append(want, d.append(t, tx, sample(aggregate), sample(aggregate))...)
		d.commit(t, tx)
	}
	if got := d.inOrder(t, aggregate); !slices.Equal(got, want) {
		t.Errorf("order is %v, want %v", got, want)
	}
}

func TestOneTransactionsEventsAreInTheOrderGiven(t *testing.T) {
	d := setup(t)
	aggregate := uuid.NewString()
	tx := d.begin(t, pgx.TxOptions{})
	var want []uuid.UUID
	for range 20 {
		event := sample(aggregate)
		event.ID = uuid.New() // whose order says nothing
		want = append(want, d.append(t, tx, event, sample(aggregate))...)
	}
	d.commit(t, tx)
	if got := d.inOrder(t, aggregate); !slices.Equal(got, want) {
		t.Errorf("order is %v, want %v", got, want)
	}
}

// Locks are taken in one order, whatever the order of the events.
func TestLocksAreInOneOrder(t *testing.T) {
	var rows []row
	for range 50 {
		rows = append(rows, row{aggregateType: AggregateAd, aggregateID: uuid.New()})
	}
	want := lockKeys(rows)
	slices.Reverse(rows)
	if got := lockKeys(append(rows, rows...)); !slices.Equal(got, want) || !slices.IsSorted(got) || len(got) != 50 {
		t.Errorf("%d keys, sorted: %t; want each of 50 once, and sorted", len(got), slices.IsSorted(got))
	}
}

// Transactions that append to the same aggregates in opposite orders do not deadlock.
func TestOppositeOrdersDoNotDeadlock(t *testing.T) {
	d := setup(t)
	aggregates := make([]string, 8)
	for i := range aggregates {
		aggregates[i] = uuid.NewString()
	}
	g, ctx := errgroup.WithContext(d.ctx)
	for n := range 4 {
		g.Go(func() error {
			for range 10 {
				var events []Event
				for _, a := range aggregates {
					events = append(events, sample(a))
				}
				if n%2 == 1 {
					slices.Reverse(events)
				}
				err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { _, err := AppendAll(ctx, tx, events...); return err })
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// Whoever follows the committed rows of an aggregate by created_at sees each once, while many append.
func TestFollowerMissesNothing(t *testing.T) {
	d := setup(t)
	aggregate := uuid.NewString()
	const writers, each = 6, 25
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				err := pgx.BeginFunc(d.ctx, d.pool, func(tx pgx.Tx) error {
					if _, err := tx.Exec(d.ctx, "SELECT 1"); err != nil {
						return err
					}
					_, err := Append(d.ctx, tx, sample(aggregate))
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	var last time.Time
	seen := 0
	for ended := false; ; {
		rows, err := d.pool.Query(d.ctx, "SELECT created_at FROM outbox_events WHERE aggregate_id = $1 AND created_at > $2 ORDER BY created_at", aggregate, last)
		if err != nil {
			t.Fatal(err)
		}
		times, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
		if err != nil {
			t.Fatal(err)
		}
		if seen += len(times); len(times) > 0 {
			last = times[len(times)-1]
		}
		if ended {
			break
		}
		select {
		case <-done:
			ended = true
		default:
		}
	}
	if seen != writers*each {
		t.Errorf("%d of %d were seen", seen, writers*each)
	}
}
