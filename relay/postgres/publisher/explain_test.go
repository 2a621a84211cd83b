package publisher

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"outboxrelay/deploy/local/postgres/postgrestest"
	"outboxrelay/deploy/local/thorough"
)

// rowsVar names how many published rows the plan is asked beside; make publisher-plan sets it.
const rowsVar = "OUTBOX_RELAY_PLAN_ROWS"

// However many rows are published, the claim finds those that are not by an index: by that of the contract, and by the
// optional one, which has them in order.
func TestClaimIsAnIndexScan(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	published := 200_000
	if text := os.Getenv(rowsVar); text != "" {
		var err error
		if published, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s is %q, want a number", rowsVar, text)
		}
	}
	f := setupOn(t, postgrestest.Database(t), 1) // its own, as an index that is made concurrently waits for all others
	f.fill(published, 10_000)
	scan := regexp.MustCompile(`Scan using (\w+) on outbox_events\b`)
	for _, test := range []struct {
		upTo  int64
		index string
	}{{1, "outbox_events_published_at_idx"}, {4, "outbox_events_claim_idx"}} {
		migrate(t, f.url, test.upTo)
		f.analyze()
		text, took := f.explain(200, test.upTo == 4)
		t.Logf("beside %d published rows, with %d migrations, %v:\n%s", published, test.upTo, took, text)
		if strings.Contains(text, "Seq Scan") {
			t.Errorf("with %d migrations the claim reads the whole table", test.upTo)
		}
		if found := scan.FindStringSubmatch(text); found == nil || found[1] != test.index && !strings.Contains(text, "Bitmap Index Scan on "+test.index) {
			t.Errorf("with %d migrations the claim does not use %s", test.upTo, test.index)
		}
	}
	text, took := f.explain(0, true)
	t.Logf("near, %v:\n%s", took, text)
	if n := strings.Count(text, "Index Scan using outbox_events_claim_idx"); n != 2 || strings.Contains(text, "Seq Scan") {
		t.Errorf("a near claim looks %d times at the index that has its rows in order, want 2 and nothing else", n)
	}
	tx, err := begin(t.Context(), f.pool, countMost, true)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.end(context.Background())
	text, took = f.explained(tx, countSQL, 10, countMost)
	t.Logf("count, %v:\n%s", took, text)
	if !strings.Contains(text, "Index Scan using outbox_events_claim_idx") || strings.Contains(text, "Sort") {
		t.Error("the count does not read the index that has its rows in order")
	}
}

// fill inserts published rows, and as many more that wait.
func (f *fixture) fill(published, waiting int) {
	f.Helper()
	_, err := f.pool.Exec(f.Context(), `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at, published_at)
		SELECT gen_random_uuid(), 'order_created', 'vendor_order', md5((n % 5000)::text)::uuid, '{}', now() - interval '30 days' + n * interval '1 ms',
			CASE WHEN n <= $1::int THEN now() END
		FROM generate_series(1, $1::int + $2::int) n`, published, waiting)
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) analyze() {
	f.Helper()
	if _, err := f.pool.Exec(f.Context(), "ANALYZE outbox_events"); err != nil {
		f.Fatal(err)
	}
}

// explain is the plan of a claim of 50 rows, as a round asks it, and how long that took.
func (f *fixture) explain(window int, indexed bool) (text string, took time.Duration) {
	f.Helper()
	tx, err := begin(f.Context(), f.pool, window, indexed)
	if err != nil {
		f.Fatal(err)
	}
	defer tx.end(context.Background())
	sql, args := tx.claim(50, 10, nil)
	if !tx.near() {
		return f.explained(tx, sql, args...)
	}
	// Its plan is not made for its arguments.
	if _, err := tx.Exec(f.Context(), "PREPARE near (bigint, bigint, text[], int, bigint) AS "+sql); err != nil {
		f.Fatal(err)
	}
	return f.explained(tx, fmt.Sprintf("EXECUTE near (50, %d, '{}', 10, %d)", nearSight*50, claimBytes))
}

// explained is the plan of a statement in a transaction.
func (f *fixture) explained(tx *transaction, sql string, args ...any) (text string, took time.Duration) {
	f.Helper()
	began := time.Now()
	rows, _ := tx.Query(f.Context(), "EXPLAIN (ANALYZE, BUFFERS) "+sql, args...)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		f.Fatal(err)
	}
	return strings.Join(lines, "\n"), time.Since(began)
}
