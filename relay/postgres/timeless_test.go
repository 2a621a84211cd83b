package postgres

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// A row that others inserted to be the last for ever gives its time to none that is appended after it: there may be no later
// one that can be published.
func TestAppendBesideARowThatIsForever(t *testing.T) {
	d := setup(t)
	for _, at := range []string{"infinity", "10000-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00", "9999-12-31 23:59:59.999998+00", "9999-12-31 00:00:00+00"} {
		aggregate := uuid.NewString()
		d.exec(t, `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at)
			VALUES (gen_random_uuid(), 'order_created', 'vendor_order', $1, '{}', $2::text::timestamptz)`, aggregate, at)
		tx := d.begin(t, pgx.TxOptions{})
		ids := d.append(t, tx, sample(aggregate), sample(aggregate), sample(aggregate))
		d.commit(t, tx)
		if got := d.inOrder(t, aggregate); !slices.Equal(got[:len(ids)], ids) {
			t.Errorf("beside %s their order is %v, want %v", at, got, ids)
		}
		var fit bool
		if err := d.pool.QueryRow(d.ctx, `SELECT max(created_at) <= clock_timestamp() FROM outbox_events WHERE id = ANY ($1)`, ids).Scan(&fit); err != nil || !fit {
			t.Errorf("beside %s it is appended at a time that is not the clock's: %v", at, err)
		}
	}
}
