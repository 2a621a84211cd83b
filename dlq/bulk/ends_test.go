package bulk_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// bulkEnds are the ends of bulk replays that were counted, by how.
func (f *fixture) bulkEnds() map[string]float64 {
	f.T.Helper()
	families, err := f.Registry.Gather()
	if err != nil {
		f.T.Fatal(err)
	}
	got := make(map[string]float64)
	for _, family := range families {
		if family.GetName() != "relay_dlq_bulk_ends_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return got
}

// TestBulkEndsAreCounted: once each, by how they ended.
func TestBulkEndsAreCounted(t *testing.T) {
	f := setup(t)
	all := f.Reviewable(8)
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) { return dlqtest.Fails(i), nil })
	f.Review()
	f.Ends(f.Bulk(dlqtest.Granted, 1000), dlq.BulkStopped)
	f.Eventually("the stop is counted", func() bool { return f.bulkEnds()["stopped"] == 1 })

	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	f.Ends(f.Bulk(dlqtest.Granted, 1000), dlq.BulkDone)
	f.Eventually("the end is counted", func() bool { return f.bulkEnds()["done"] == 1 })
	if diff := cmp.Diff(map[string]float64{"done": 1, "stopped": 1, "cancelled": 0}, f.bulkEnds()); diff != "" {
		t.Errorf("%d dead letters, ends (-want +got):\n%s", len(all), diff)
	}
}
