package postgres

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// A row that others inserted with a time that cannot be published gives it to none that is appended after it.
func TestAppendBesideARowThatIsForever(t *testing.T) {
	d := setup(t)
	for _, at := range []string{"infinity", "10000-01-01 00:00:00+00"} {
		aggregate := uuid.NewString()
		d.exec(t, `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at)
			VALUES (gen_random_uuid(), 'order_created', 'vendor_order', $1, '{}', $2::text::timestamptz)`, aggregate, at)
		tx := d.begin(t, pgx.TxOptions{})
		id := d.append(t, tx, sample(aggregate))[0]
		d.commit(t, tx)
		var fit bool
		if err := d.pool.QueryRow(d.ctx, `SELECT created_at <= clock_timestamp() FROM outbox_events WHERE id = $1`, id).Scan(&fit); err != nil || !fit {
			t.Errorf("beside %s it is appended at a time that is not the clock's: %v", at, err)
		}
	}
}
