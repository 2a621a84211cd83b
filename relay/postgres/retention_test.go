package postgres

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The statement of the page removes what was published long ago, finds it by an index, and nothing else.
func TestRetentionOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/outbox.md")
	if err != nil {
		t.Fatal(err)
	}
	statement := string(regexp.MustCompile(`(?s)DELETE FROM outbox_events[^;]*;`).Find(page))
	if statement == "" {
		t.Fatal("the page does not say how published rows are removed")
	}
	d := setup(t)
	const insert = `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at, published_at)
		VALUES (gen_random_uuid(), 'order_created', 'vendor_order', $1, '{}', now() - interval '1 year', now() - $2::text::interval)`
	old, recent, waiting := uuid.NewString(), uuid.NewString(), uuid.NewString()
	for aggregate, ago := range map[string]*string{old: new("90 days"), recent: new("1 day"), waiting: nil} {
		d.exec(t, insert, aggregate, ago)
	}
	tx := d.begin(t, pgx.TxOptions{})
	if _, err := tx.Exec(d.ctx, "SET LOCAL enable_seqscan = off"); err != nil { // of a table with three rows
		t.Fatal(err)
	}
	rows, _ := tx.Query(d.ctx, "EXPLAIN "+statement)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if text := strings.Join(plan, "\n"); err != nil || !strings.Contains(text, "outbox_events_published_at_idx") || !strings.Contains(text, "outbox_events_pkey") {
		t.Errorf("its plan is without an index: %v\n%s", err, text)
	}
	if tag, err := tx.Exec(d.ctx, statement); err != nil || tag.RowsAffected() != 1 {
		t.Errorf("%d rows are removed, want 1: %v", tag.RowsAffected(), err)
	}
	d.commit(t, tx)
	for aggregate, want := range map[string]int{old: 0, recent: 1, waiting: 1} {
		if n := len(d.inOrder(t, aggregate)); n != want {
			t.Errorf("%d rows are left of an aggregate, want %d", n, want)
		}
	}
}
