package requirements_test

import (
	"errors"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// askScans makes every query of the relay.
func askScans(t *testing.T, store relay.Store, catalog *contracts.Catalog) {
	t.Helper()
	askOf := func(aggregate string, s relay.Scan) error {
		s.Lane, s.Lanes, s.Aggregate, s.Limit = contracts.StandardLane, contracts.Lanes(), aggregate, 10
		_, paged := store.Page(t.Context(), s)
		_, counted := store.Count(t.Context(), s)
		s.After, s.AfterID = relay.Position{At: time.Unix(1, 0), ID: "x"}, "x"
		_, further := store.Page(t.Context(), s)
		return errors.Join(paged, counted, further)
	}
	ask := func(s relay.Scan) error {
		if s.Kind == relay.ScanAggregate {
			return askOf("a", s)
		}
		return errors.Join(askOf("a", s), askOf("", s))
	}
	shared := []relay.ScanKind{
		relay.ScanLane, relay.ScanStrays, relay.ScanRetrying, relay.ScanUnordered, relay.ScanAggregate, relay.ScanHeld,
	}
	whole := []relay.ScanKind{
		relay.ScanRetrying, relay.ScanUnordered, relay.ScanEverything, relay.ScanWithStatus, relay.ScanOddStatus, relay.ScanUnsettled, relay.ScanNullStatus,
		relay.ScanAggregate, relay.ScanHeld,
	}
	for _, share := range catalog.Shares() {
		for _, kind := range shared {
			if err := ask(relay.Scan{Outbox: share.Outbox, Kind: kind, Shard: share.Shard, Shards: share.Of}); err != nil {
				t.Errorf("scan %d of %s: %v", kind, share, err)
			}
		}
		if !share.First() {
			continue
		}
		for _, kind := range whole {
			if err := ask(relay.Scan{Outbox: share.Outbox, Kind: kind}); err != nil {
				t.Errorf("scan %d of all of %s: %v", kind, share.Outbox, err)
			}
		}
		for _, kind := range []relay.ScanKind{relay.ScanShardBelow, relay.ScanShardAbove} {
			err := ask(relay.Scan{Outbox: share.Outbox, Kind: kind, Shards: share.Of})
			if (err == nil) != (share.Of > 1) {
				t.Errorf("scan %d of %s: %v", kind, share.Outbox, err)
			}
		}
	}
	for _, kind := range []relay.ScanKind{relay.ScanLane, relay.ScanStrays} {
		if err := ask(relay.Scan{Outbox: "wsOutbox", Kind: kind}); err == nil {
			t.Errorf("scan %d of all shards at once was let through, and no index serves it", kind)
		}
	}
}
