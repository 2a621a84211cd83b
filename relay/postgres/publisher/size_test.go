package publisher

import (
	"context"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"outboxrelay/deploy/local/thorough"
)

// appendLarge appends a row to an aggregate, whose data is a text of so many bytes.
func (f *fixture) appendLarge(bytes int, aggregate uuid.UUID) event {
	f.Helper()
	e := event{id: uuid.New(), aggregate: aggregate}
	if _, err := f.pool.Exec(f.Context(), `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at)
		VALUES ($1, 'order_created', 'vendor_order', $2, jsonb_build_object('version', 1, 'eventId', ($1::uuid)::text, 'data', jsonb_build_object('text', repeat('x', $3::int))), clock_timestamp())`,
		e.id, e.aggregate, bytes); err != nil {
		f.Fatal(err)
	}
	return e
}

// What a claim brings into memory is bounded by its bytes as well, and is one row at least.
func TestClaimIsBoundedByBytes(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		f := w.setup(t)
		var list []event
		for _, size := range []int{claimBytes + 1, 10} {
			list = append(list, f.appendLarge(size, numbered(0)))
		}
		c := w.claim(f, 50)
		if len(c.rows) != 1 || c.rows[0].id != list[0].id || c.locked != len(list) {
			t.Errorf("%d rows of %d locked ones are read, want the oldest of all alone, though it is larger than the bound", len(c.rows), c.locked)
		}
	})
	eachWay(t, func(t *testing.T, w way) {
		f := w.setup(t)
		for range 4 {
			f.appendLarge(claimBytes/4, numbered(0))
		}
		c := w.claim(f, 50)
		if len(c.rows) != 3 || c.locked != 4 {
			t.Errorf("%d rows of %d locked ones are read, want the 3 that fit", len(c.rows), c.locked)
		}
	})
}

// What a claim leaves to the next round is not written out to be measured: a batch of large rows would take longer than a claim may.
func TestClaimMeasuresUpToWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	measured := regexp.MustCompile(`(?s)CTE cut.*?WindowAgg .*?actual time=\S+ rows=(\d+)`)
	eachWay(t, func(t *testing.T, w way) {
		f := w.setup(t)
		const rows, size, fit = 100, 100_000, 3
		for range rows {
			f.appendLarge(size, numbered(0))
		}
		tx, err := begin(t.Context(), f.pool, w.window, w.upTo == 0)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.end(context.Background())
		sql, args := tx.claim(rows, 10, nil)
		args[4] = (fit + 1) * size // without what is around the texts
		text, _ := f.explained(tx, sql, args...)
		found := measured.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("the plan does not tell what is measured:\n%s", text)
		}
		if n, _ := strconv.Atoi(found[1]); n != fit+1 {
			t.Errorf("%d of %d rows are measured, want the %d that fit and the first that does not", n, rows, fit)
		}
	})
}

func TestLargeRowsAreAllPublished(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	f := setup(t, 0)
	var list []event
	for i := range 8 {
		list = append(list, f.appendLarge(claimBytes/3, numbered(i%2)))
	}
	f.start(f.options())
	f.awaitPublished()
	f.judge(list)
	if got := len(f.shelf.messages()); got != len(list) {
		t.Errorf("%d messages of %d rows", got, len(list))
	}
}
