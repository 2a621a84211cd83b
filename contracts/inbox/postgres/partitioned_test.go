package postgres_test

import (
	"testing"

	"outboxrelay/contracts/inbox/inboxtest"
)

// Somebody may have made the table partitioned, by hash of what its key is.
func TestConformsOnAPartitionedTable(t *testing.T) {
	store, pool := open(t)
	for _, sql := range []string{
		"ALTER TABLE inbox_events RENAME TO whole",
		"CREATE TABLE inbox_events (LIKE whole INCLUDING ALL) PARTITION BY HASH (consumer, event_id)",
		"CREATE TABLE inbox_events_0 PARTITION OF inbox_events FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
		"CREATE TABLE inbox_events_1 PARTITION OF inbox_events FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
		"DROP TABLE whole",
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	inboxtest.Conformance(t, func(*testing.T) inboxtest.Fixture { return inboxtest.Fixture{Store: store} })
}
