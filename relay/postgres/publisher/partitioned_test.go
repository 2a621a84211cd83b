package publisher

import (
	"testing"
)

// A table that somebody has partitioned by hash of id keeps the order as any other does, with what migration 4 makes but cannot make
// there, as beside writers no index of a partitioned table can be made.
func TestPublishesInOrderFromAPartitionedTable(t *testing.T) {
	t.Parallel()
	for _, indexes := range []string{"", `
		CREATE INDEX outbox_events_claim_idx ON outbox_events (created_at, id) WHERE published_at IS NULL;
		CREATE INDEX outbox_events_waiting_idx ON outbox_events (aggregate_type, aggregate_id, created_at, id) WHERE published_at IS NULL`} {
		f := setup(t, 1)
		if _, err := f.pool.Exec(t.Context(), `
			ALTER TABLE outbox_events RENAME TO whole;
			CREATE TABLE outbox_events (LIKE whole INCLUDING DEFAULTS, PRIMARY KEY (id)) PARTITION BY HASH (id);
			CREATE TABLE outbox_events_0 PARTITION OF outbox_events FOR VALUES WITH (MODULUS 2, REMAINDER 0);
			CREATE TABLE outbox_events_1 PARTITION OF outbox_events FOR VALUES WITH (MODULUS 2, REMAINDER 1);
			DROP TABLE whole`+";"+indexes); err != nil {
			t.Fatal(err)
		}
		list := events(7, 60)
		f.append(list...)
		for range 3 {
			o := f.options()
			o.Batch = 20
			f.start(o)
		}
		f.awaitPublished()
		f.judge(list)
	}
}
