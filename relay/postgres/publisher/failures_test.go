package publisher

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/deploy/local/thorough"
	"outboxrelay/ier"
)

// attempts is a row's count, and its last error.
func (f *fixture) attempts(id uuid.UUID) (n int, lastError string) {
	f.Helper()
	err := f.pool.QueryRow(f.Context(), `SELECT attempt_count, coalesce(last_error, '') FROM outbox_events WHERE id = $1`, id).Scan(&n, &lastError)
	if err != nil {
		f.Fatal(err)
	}
	return n, lastError
}

func TestRefusedRowHoldsBackItsAggregateAlone(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"for good": errRefused, "for itself": errItself} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, 0)
			list := events(5, 3)
			poison := list[0]
			f.append(list...)
			f.shelf.failing(func(id uuid.UUID, _ int) error {
				if id == poison.id {
					return cause
				}
				return nil
			})
			o := f.options()
			o.MaxAttempts = 4
			f.start(o)
			f.await("the poison is parked", func() bool { n, _ := f.attempts(poison.id); return n == 4 })
			f.await("the others are published", func() bool { return f.count("published_at IS NULL") == 3 })
			parked, err := List(t.Context(), f.pool, true, o.MaxAttempts, 10)
			if err != nil || len(parked) != 1 || parked[0].ID != poison.id || !parked[0].Parked {
				t.Errorf("parked are %v: %v", parked, err)
			}
			waiting, err := List(t.Context(), f.pool, false, o.MaxAttempts, 10)
			if err != nil || len(waiting) != 3 {
				t.Errorf("%d wait, want 3: %v", len(waiting), err)
			}
			if _, text := f.attempts(poison.id); !strings.HasPrefix(text, "I") {
				t.Errorf("last_error is %q", text)
			}
			more := events(5, 1) // a round that has looked at all once more
			f.append(more...)
			f.await("later ones are published", func() bool { return f.count("published_at IS NULL") == 4 })
			if got := f.shelf.tries(poison.id); got != 4 {
				t.Errorf("%d tries, want those that were counted, 4", got)
			}

			f.shelf.failing(nil)
			if left, err := Retry(t.Context(), f.pool, []uuid.UUID{poison.id}); err != nil || len(left) != 0 {
				t.Errorf("retry leaves %v: %v", left, err)
			}
			f.awaitPublished()
			f.judge(append(list, more...))
		})
	}
}

func TestRetryTellsWhatIsNotThere(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(1, 1)
	f.append(list...)
	f.start(f.options())
	f.awaitPublished()
	left, err := Retry(t.Context(), f.pool, []uuid.UUID{list[0].id, uuid.New()})
	if err != nil || len(left) != 2 {
		t.Errorf("left are %v: %v", left, err)
	}
	if n := f.count("published_at IS NULL"); n != 0 {
		t.Error("a published row is to be published again")
	}
}

// While the topic is out, whatever it answers, rows wait: no attempt is counted, the breaker opens, and
// the publisher is not ready.
func TestOutageCountsNothing(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	for name, cause := range map[string]error{"unavailable": errOut, "all fail for themselves": errItself} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, 0)
			list := events(12, 5)
			f.append(list...)
			f.shelf.failing(func(uuid.UUID, int) error { return cause })
			o := f.options()
			o.Breaker.OpenFor = time.Second // a few probes are over long before it closes, as where none but a few rows are there to probe
			p, _ := f.start(o)
			f.await("the breaker opens", func() bool { return p.Breaker().State != "closed" })
			if err := p.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "topic "+DefaultTopic+": out since") {
				t.Errorf("ready says %v", err)
			}
			asked := func() (n int) {
				for _, e := range list {
					n += f.shelf.tries(e.id)
				}
				return n
			}
			begun := asked()
			f.await("it is probed", func() bool { return asked() > begun+2 })
			if n := f.count("attempt_count <> 0 OR last_error IS NOT NULL OR published_at IS NOT NULL"); n != 0 {
				t.Errorf("%d rows have a mark", n)
			}
			f.shelf.failing(nil)
			f.awaitPublished()
			f.judge(list)
			f.await("the breaker closes", func() bool { return p.Breaker().State == "closed" })
			if err := p.Ready(t.Context()); err != nil {
				t.Errorf("ready says %v", err)
			}
		})
	}
}

// calls notes how many rows each call of a target has.
type calls struct {
	ier.Target
	note func(rows int)
}

func (c calls) Deliver(ctx context.Context, parcels []ier.Parcel) []error {
	c.note(len(parcels))
	return c.Target.Deliver(ctx, parcels)
}

// A topic that is out is probed by one row at a time: were it half well, a run would be a burst.
func TestProbeIsOneRow(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	const aggregates = 2
	f.append(events(aggregates, 5)...)
	f.shelf.failing(func(uuid.UUID, int) error { return errOut })
	o := f.options()
	var p atomic.Pointer[Publisher]
	var mu sync.Mutex
	var probes []int
	o.Target = calls{o.Target, func(rows int) {
		mu.Lock()
		defer mu.Unlock()
		if it := p.Load(); it != nil && it.Breaker().State != "closed" {
			probes = append(probes, rows)
		}
	}}
	it, _ := f.start(o)
	p.Store(it)
	// Calls that were let through before it opened may be noted late: one of each aggregate.
	f.await("it is probed", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(probes) >= aggregates+5
	})
	mu.Lock()
	defer mu.Unlock()
	for i, rows := range probes[aggregates:] {
		if rows != 1 {
			t.Errorf("probe %d is of %d rows", i, rows)
		}
	}
}

// A breaker that is open stays so while there is nothing to probe but what is parked.
func TestParkedRowsDoNotCloseTheBreaker(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	parked := events(1, 1)
	f.append(parked...)
	o := f.options()
	if _, err := f.pool.Exec(t.Context(), `UPDATE outbox_events SET attempt_count = 10`); err != nil {
		t.Fatal(err)
	}
	list := events(6, 1)[1:]
	f.append(list...)
	f.shelf.failing(func(uuid.UUID, int) error { return errOut })
	var rounds atomic.Int64
	o.Pool = f.connect(func(c *pgxpool.Config) {
		c.ConnConfig.Tracer = statements(func(_ *pgconn.PgConn, sql string) {
			if sql == claimSQL || sql == claimIndexedSQL {
				rounds.Add(1)
			}
		})
	})
	p, _ := f.start(o)
	f.await("the breaker opens", func() bool { return p.Breaker().State != "closed" })
	// Somebody else publishes them.
	if _, err := f.pool.Exec(t.Context(), `UPDATE outbox_events SET published_at = now() WHERE attempt_count = 0`); err != nil {
		t.Fatal(err)
	}
	looked := rounds.Load()
	f.await("it looks again and again", func() bool { return rounds.Load() > looked+3 })
	if p.Breaker().State == "closed" || p.Ready(t.Context()) == nil {
		t.Error("the breaker is closed, though nothing was acknowledged")
	}
	if n, _ := f.attempts(parked[0].id); n != 10 || f.shelf.tries(parked[0].id) != 0 {
		t.Error("the parked row was tried")
	}
}

func TestRetryBesideARunningPublisher(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	f := setup(t, 0)
	list := events(3, 2)
	f.append(list...)
	f.shelf.failing(func(id uuid.UUID, try int) error {
		if id == list[0].id && try < 30 {
			return errRefused
		}
		return nil
	})
	o := f.options()
	o.MaxAttempts = 2
	f.start(o)
	f.await("it is published in the end", func() bool {
		if _, err := Retry(t.Context(), f.pool, []uuid.UUID{list[0].id}); err != nil {
			t.Fatal(err)
		}
		return f.count("published_at IS NULL") == 0
	})
	f.judge(list)
}

func TestReadyTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	o := f.options()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Ready(t.Context()); err != nil {
		t.Errorf("ready says %v", err)
	}
	hidden := o
	hidden.Pool = f.connect(func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = "pg_catalog" })
	q, err := New(hidden)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "search_path") || !strings.Contains(err.Error(), "USAGE") {
		t.Errorf("where the role does not see the table ready says %v", err)
	}
	if _, err := f.pool.Exec(t.Context(), `DROP TABLE outbox_events`); err != nil {
		t.Fatal(err)
	}
	if err := p.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "migrate up") {
		t.Errorf("without a table ready says %v", err)
	}
	o.Pool.Close()
	if err := p.Ready(t.Context()); err == nil {
		t.Error("ready without a database")
	}
}

func TestOptionsNameAllThatIsWrong(t *testing.T) {
	_, err := New(Options{Batch: -1, Poll: -time.Second, MaxAttempts: -2})
	for _, want := range []string{"no database", "no target", "batch is -1", "poll is -1s", "attempts is -2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q in it", err, want)
		}
	}
}
