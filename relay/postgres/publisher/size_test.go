package publisher

import (
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
