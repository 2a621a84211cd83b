package requirements_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/requirements"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
	relayfirestore "outboxrelay/relay/firestore"
)

// shardedCatalog is the built-in catalog with three shards in wsOutbox.
func shardedCatalog(t *testing.T) *contracts.Catalog {
	t.Helper()
	catalog := defaultCatalog(t)
	catalog.Outbox("wsOutbox").Shards = 3
	return catalog
}

// TestQueriesHaveTheirIndexes runs every query of the service, on a Firestore
// that refuses what it would need another index for. Then it looks for indexes
// that none of them would miss.
func TestQueriesHaveTheirIndexes(t *testing.T) {
	catalog := shardedCatalog(t)
	declared := requirements.IndexesOf(catalog)
	db, asked := database(t, declared)
	store := dlqfirestore.New(db)
	queue, err := dlq.New(dlq.Config{Store: store, Catalog: catalog})
	if err != nil {
		t.Fatal(err)
	}
	askScans(t, relayfirestore.New(db, db), catalog)
	askQueue(t, store, queue, catalog)
	runSiblings(t, queue, asked)
	askWorkQueues(t, db.Client)
	if t.Failed() {
		return
	}
	if diff := cmp.Diff([]string(nil), asked.superfluous(declared)); diff != "" {
		t.Errorf("indexes that no query needs (-want +got):\n%s", diff)
	}
	t.Logf("%d queries", len(asked.queries))
}
