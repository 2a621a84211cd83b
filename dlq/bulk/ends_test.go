package bulk_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/dlq"
	"outboxrelay/dlq/bulk"
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

// late is a queue whose list of the bulk replays is old when it comes.
type late struct {
	*dlq.Queue
	read, comes chan struct{}
}

func (q *late) Unsettled(ctx context.Context) ([]*dlq.Bulk, error) {
	bulks, err := q.Queue.Unsettled(ctx)
	select {
	case q.read <- struct{}{}:
		<-q.comes
	default:
	}
	return bulks, err
}

// TestAnOldListBeginsNothing: a bulk replay that came to its end while the list was on its
// way that shows it running is not begun anew, and its end is counted once.
func TestAnOldListBeginsNothing(t *testing.T) {
	f := setup(t)
	q := &late{f.Queue, make(chan struct{}), make(chan struct{})}
	goOn := make(chan struct{})
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	f.Reviewable(3)
	b := f.Bulk(dlqtest.Granted, 1000)
	f.Start(dlqtest.Replays(f.Queue, f.Lanes, f.Config))
	runner, err := bulk.New(q, f.Config.BulkConfig())
	f.Start(runner, err)
	f.Eventually("it is under way", func() bool { return f.Now(b).Replaying == 3 })
	<-q.read
	close(goOn)
	f.Ends(b, dlq.BulkDone)
	f.Eventually("its run is over", func() bool { return f.running() == 0 })
	close(q.comes)
	<-q.read // it has looked at the old list, and reads again
	if got := f.bulkEnds()["done"]; got != 1 || f.running() != 0 {
		t.Errorf("%v ends are counted, and %v run, want one and none", got, f.running())
	}
}

// running is how many bulk replays are at work.
func (f *fixture) running() float64 { return f.Counter("relay_dlq_bulk_running") }
