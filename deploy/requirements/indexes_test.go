package requirements_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/requirements"
)

// TestIndexesOfAnOutbox: its lanes have one composite index, another in shards.
// What rises with time or is large has no index of its own, and status one.
func TestIndexesOfAnOutbox(t *testing.T) {
	file := requirements.IndexesOf(shardedCatalog(t))
	for _, outbox := range []struct {
		name  string
		index []string
		kept  []string
	}{
		{"accOutbox", []string{"status", "lane", "createdAt"}, []string{"status"}},
		{"wsOutbox", []string{"status", "shard", "lane", "createdAt"}, []string{"status"}},
	} {
		var composites []indexes.Composite
		for _, c := range file.Indexes {
			if c.CollectionGroup == outbox.name {
				composites = append(composites, c)
			}
		}
		if diff := cmp.Diff([]indexes.Composite{indexes.On(outbox.name, outbox.index...)}, composites); diff != "" {
			t.Errorf("indexes of %s (-want +got):\n%s", outbox.name, diff)
		}
		var kept, bare, ttl []string
		for _, o := range file.FieldOverrides {
			switch {
			case o.CollectionGroup != outbox.name:
				continue
			case o.TTL:
				ttl = append(ttl, o.FieldPath)
			}
			if len(o.Indexes) == 0 {
				bare = append(bare, o.FieldPath)
			} else {
				kept = append(kept, o.FieldPath)
			}
		}
		if diff := cmp.Diff(outbox.kept, kept); diff != "" {
			t.Errorf("fields of %s with an index (-want +got):\n%s", outbox.name, diff)
		}
		if diff := cmp.Diff([]string{"createdAt", "occurredAt", "deliveredAt", "nextAttemptAt", "payload", "lastError", "attemptErrors", "expireAt"}, bare); diff != "" {
			t.Errorf("fields of %s without one (-want +got):\n%s", outbox.name, diff)
		}
		if diff := cmp.Diff([]string{contracts.FieldExpireAt}, ttl); diff != "" {
			t.Errorf("TTL policies of %s (-want +got):\n%s", outbox.name, diff)
		}
	}
}

// What consumers' inboxes remember is forgotten by a TTL policy.
func TestInboxEventsExpire(t *testing.T) {
	got := map[string]bool{} // whether there is a TTL policy, by field
	for _, o := range requirements.IndexesOf(defaultCatalog(t)).FieldOverrides {
		if o.CollectionGroup != "inbox-events" {
			continue
		}
		if len(o.Indexes) > 0 {
			t.Errorf("%s has indexes %v", o.FieldPath, o.Indexes)
		}
		got[o.FieldPath] = o.TTL
	}
	if diff := cmp.Diff(map[string]bool{"leaseUntil": false, "nextAttemptAt": false, "errors": false, "expireAt": true}, got); diff != "" {
		t.Errorf("TTL policies of inbox-events (-want +got):\n%s", diff)
	}
}

// TestLimitsOfIndexes are Firestore's for one database: 200 composite indexes
// without billing, 500 field configurations. A project's own need room too.
func TestLimitsOfIndexes(t *testing.T) {
	file := requirements.IndexesOf(defaultCatalog(t))
	if len(file.Indexes) > 100 || len(file.FieldOverrides) > 250 {
		t.Errorf("%d composite indexes and %d field overrides, want half of what a database may have at most", len(file.Indexes), len(file.FieldOverrides))
	}
	t.Logf("%d composite indexes, %d field overrides", len(file.Indexes), len(file.FieldOverrides))
}
