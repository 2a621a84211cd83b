package publisher

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"outboxrelay/deploy/local/thorough"
)

// However many rows are parked, what they do not hold back is published: they would fill every claim.
func TestParkedRowsStarveNobody(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	for name, upTo := range map[string]int64{"all migrations": 0, "the first alone": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const parked = 10_000
			f := setup(t, upTo)
			f.hold(parked, 1)
			f.analyze()
			list := events(40, 5)
			f.append(list...)
			o := f.options()
			o.ParkedFor = time.Nanosecond // what is remembered of them is of no help
			f.start(o)
			f.await("the others are published", func() bool { return f.count("published_at IS NOT NULL") == len(list) })
			f.judge(list)

			var aggregate uuid.UUID
			const retry = `UPDATE outbox_events SET attempt_count = 0 WHERE id = (SELECT id FROM outbox_events WHERE attempt_count = 10 LIMIT 1) RETURNING aggregate_id`
			if err := f.pool.QueryRow(t.Context(), retry).Scan(&aggregate); err != nil {
				t.Fatal(err)
			}
			f.await("one that is retried goes on, with what is behind it", func() bool {
				return f.count("aggregate_id = $1 AND published_at IS NOT NULL", aggregate) == 2
			})
		})
	}
}

// A claim has what is in front of a parked row, and nothing behind it.
func TestClaimEndsAtAParkedRow(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		f := w.setup(t)
		list := events(2, 3) // of the first aggregate the second row is parked, of the other one the first
		f.append(list...)
		if _, err := f.pool.Exec(t.Context(), `UPDATE outbox_events SET attempt_count = 10 WHERE id = ANY ($1)`, []uuid.UUID{list[2].id, list[1].id}); err != nil {
			t.Fatal(err)
		}
		c := w.claim(f, 100)
		if len(c.rows) == 0 || c.rows[0].id != list[0].id {
			t.Error("the row in front is not claimed")
		}
		for _, r := range c.rows {
			if r.aggregate.id == list[1].aggregate && w.window != 0 { // a near one has what is oldest
				t.Errorf("place %d behind a parked head is claimed", r.place)
			}
		}
		if a := plan(c.rows, 10, 0); len(a.runs) != 1 || len(a.runs[0]) != 1 || a.runs[0][0].id != list[0].id {
			t.Errorf("may go: %v", a.runs)
		}
	})
}
