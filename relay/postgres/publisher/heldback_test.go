package publisher

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/deploy/local/postgres/postgrestest"
	"outboxrelay/deploy/local/thorough"
)

// hold inserts aggregates whose head is parked with so many rows behind it each, older than anything else.
func (f *fixture) hold(aggregates, behind int) {
	f.Helper()
	f.execute(`INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at, attempt_count)
		SELECT i.id, 'order_created', 'vendor_order', md5('held back ' || n % $1::int)::uuid, jsonb_build_object('version', 1, 'eventId', i.id::text, 'data', '{}'::jsonb), now() - interval '1 day' + n * interval '1 ms', CASE WHEN n < $1::int THEN 10 ELSE 0 END
		FROM generate_series(0, $1::int * ($2::int + 1) - 1) n, LATERAL (SELECT gen_random_uuid() AS id WHERE n >= 0) i`, aggregates, behind)
}

// However many rows parked ones hold back, where the optional index is no claim reads them all, whether the table's statistics know of
// them or are older than they are; without it the backlog is read a few times, and not once for each row.
func TestWhatIsHeldBackIsNotRead(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	const held = 20_400
	for _, w := range []struct {
		name   string
		window int
		upTo   int64
		most   int64 // rows in all steps of its plan
		parked []int // aggregates
	}{
		{"without the index", sight * 50, 1, 20 * held, []int{1, 400, held / 2}},
		{"a window", sight * 50, 4, held / 2, []int{1, 400}},
		{"near", 0, 4, held / 2, []int{1, 400}},
		{"a walk", walking, 4, held / 2, []int{1, 400}},
	} {
		for _, aggregates := range w.parked {
			t.Run(fmt.Sprintf("%s, %d parked", w.name, aggregates), func(t *testing.T) {
				f := setupOn(t, postgrestest.Database(t), w.upTo)                                               // its own, as an index that is made concurrently waits for all others
				f.pool = f.connect(func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["work_mem"] = "64kB" }) // as little as there may be
				f.execute("ALTER TABLE outbox_events SET (autovacuum_enabled = false)")
				f.fill(5000, 0)
				f.analyze()
				f.hold(aggregates, held/aggregates-1)
				f.append(events(40, 5)...)
				if read := f.read(w.window, w.upTo == 4); read > w.most {
					t.Errorf("with statistics that are older than what is held back it reads %d rows, want %d at most", read, w.most)
				}
				f.analyze()
				if read := f.read(w.window, w.upTo == 4); read > w.most {
					t.Errorf("with statistics it reads %d rows, want %d at most", read, w.most)
				}
			})
		}
	}
}

// planned is a step of a plan, as EXPLAIN tells it.
type planned struct {
	Type    string    `json:"Node Type"`
	Rows    int64     `json:"Actual Rows"`
	Loops   int64     `json:"Actual Loops"`
	Removed int64     `json:"Rows Removed by Filter"`
	Unequal int64     `json:"Rows Removed by Join Filter"`
	Plans   []planned `json:"Plans"`
}

// rows are those that it and its parts came by.
func (p planned) rows() int64 {
	n := (p.Rows + p.Removed + p.Unequal) * p.Loops
	for _, part := range p.Plans {
		n += part.rows()
	}
	return n
}

// read is how many rows all steps of a claim of 50 came by.
func (f *fixture) read(window int, indexed bool) int64 {
	f.Helper()
	tx, err := begin(f.Context(), f.pool, window, indexed)
	if err != nil {
		f.Fatal(err)
	}
	defer tx.end(context.Background())
	sql, args := tx.claim(50, 10, nil)
	var text []byte
	if err := tx.QueryRow(f.Context(), "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "+sql, args...).Scan(&text); err != nil {
		f.Fatal(err)
	}
	var plans []struct{ Plan planned }
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) != 1 {
		f.Fatalf("%d plans: %v", len(plans), err)
	}
	f.Logf("window %d: %d rows", window, plans[0].Plan.rows())
	return plans[0].Plan.rows()
}

func (f *fixture) execute(sql string, args ...any) {
	f.Helper()
	if _, err := f.pool.Exec(f.Context(), sql, args...); err != nil {
		f.Fatal(err)
	}
}

// A walk is cut short at its bound, the next goes on behind it, and each aggregate has its turn.
func TestWalksComeByAll(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	const others = sight + 3 // of one row at a time, a walk stops after sight aggregates
	f.hold(5, 2)
	list := events(others, 1)
	f.append(list...)
	var from *aggregate
	got := map[uuid.UUID]bool{}
	passed, walks := 0, 0
	for {
		tx, err := begin(t.Context(), f.pool, walking, true)
		if err != nil {
			t.Fatal(err)
		}
		tx.from = from
		c, err := claimRows(t.Context(), tx, 1, 10, nil)
		tx.end(context.Background())
		if err != nil || len(c.rows) != 1 || c.rows[0].place != 1 {
			t.Fatalf("walk %d claims %v: %v", walks, c.rows, err)
		}
		got[c.rows[0].aggregate.id] = true
		passed += c.passed
		walks++
		if from = c.end; from == nil {
			break
		}
	}
	if walks != 2 || len(got) != 2 || passed != 5 {
		t.Errorf("%d walks claim of %d aggregates and pass by %d, want 2, 2 and 5", walks, len(got), passed)
	}
}

// Rows go out beside more that are held back than the widest window has, and what is retried as well, each aggregate in order.
func TestPublishesBesideManyHeldBack(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	o := f.options()
	o.Batch = 5
	const aggregates, behind = 3, widest * sight * 5
	f.hold(aggregates, behind)
	list := events(40, 5)
	f.append(list...)
	f.start(o)
	f.start(o)
	f.await("the others are published", func() bool { return f.count("published_at IS NOT NULL") == len(list) })
	f.judge(list)
	f.execute("UPDATE outbox_events SET attempt_count = 0 WHERE attempt_count = 10")
	f.awaitPublished()
	rows, err := f.pool.Query(t.Context(), "SELECT id, aggregate_id FROM outbox_events ORDER BY created_at, id")
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (e event, err error) {
		err = r.Scan(&e.id, &e.aggregate)
		return e, err
	})
	if err != nil {
		t.Fatal(err)
	}
	f.judge(all)
}
