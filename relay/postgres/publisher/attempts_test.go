package publisher

import "testing"

// A count of attempts that others wrote, however far below zero, is no number too large for the column: one such row
// would have the marks of all that are in its round fail, each time.
func TestAttemptsFarBelowZeroStopNothing(t *testing.T) {
	t.Parallel()
	for _, attempts := range []string{"-2147483648", "-2147483640", "-1"} {
		t.Run(attempts, func(t *testing.T) {
			t.Parallel()
			f := setup(t, 0)
			poison, others := events(1, 1)[0], events(3, 2)
			if _, err := f.pool.Exec(t.Context(), `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, attempt_count)
				VALUES ($1, 'order_created', 'store', $2, 'null', $3::text::int)`, poison.id, poison.aggregate, attempts); err != nil {
				t.Fatal(err)
			}
			f.append(others...)
			o := f.options()
			o.MaxAttempts = 20
			f.start(o)
			f.await("it is parked, and the others are published", func() bool {
				return f.count("published_at IS NULL") == 1 && f.count("attempt_count = 20") == 1
			})
			f.judge(others)
			for _, e := range others {
				if n := f.shelf.tries(e.id); n != 1 {
					t.Errorf("%s was published %d times", e.id, n)
				}
			}
		})
	}
}
