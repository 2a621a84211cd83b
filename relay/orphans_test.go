package relay_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// A held record without a freeze that is changed after the sweep has read it stays as
// it was changed.
func TestSweepLeavesAHeldRecordThatWasChangedMeanwhile(t *testing.T) {
	f := setup(t, newCloud(t))
	orphans := f.series("wsOutbox", "TaskCompleted", "orphan", 1, 2)
	changed := orphans[0]
	var once sync.Once
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, commit: func(ctx context.Context, writes []relay.Write) ([]time.Time, error) {
			for _, w := range writes {
				if w.ID == changed.ID && w.Fields["status"] == string(contracts.Pending) {
					once.Do(func() {
						if err := set("status", string(contracts.Delivered))(ctx, f.db.Doc(changed.Path())); err != nil {
							t.Error(err)
						}
					})
				}
			}
			return store.Commit(ctx, writes)
		}}
	}
	r := f.sweeping()
	f.leftBy(orphans, map[string]any{"status": "held"})
	f.eventually("both are delivered", func() bool { return f.unmarked(orphans, contracts.Delivered) == 0 })
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
	if at := f.fields(changed.Path())[contracts.FieldDeliveredAt]; at != nil {
		t.Errorf("the one that was delivered meanwhile is delivered again, at %v", at)
	}
}

// A held record without a freeze that leaves no room for another status holds up
// neither those beside it nor what the sweep looks for next. A person sees it.
func TestSweepPassesAHeldRecordThatCannotBePending(t *testing.T) {
	f := setup(t, newCloud(t))
	large := f.record("wsOutbox", "TaskCompleted", "orphan", 1)
	f.fill(large, 0)
	fields := f.fields(large.Path())
	payload := fields["payload"].(map[string]any)
	payload["b"] = payload["b"].(string) + "bbb" // what "pending" takes more than "held"
	fields["status"] = "held"
	if err := remove(t.Context(), f.db.Doc(large.Path())); err != nil {
		t.Fatal(err)
	}
	r := f.sweeping()
	if _, err := f.db.Doc(large.Path()).Set(f.ctx, fields); err != nil {
		t.Fatal(err)
	}
	beside := f.series("wsOutbox", "TaskCompleted", "orphan", 2, 4)
	f.leftBy(beside, map[string]any{"status": "held"})
	odd := f.record("wsOutbox", "TaskCompleted", "odd", 1)
	f.leftBy([]*contracts.Record{odd}, map[string]any{"status": "lost"})
	f.dead(odd)
	f.eventually("all are delivered", func() bool { return f.unmarked(beside, contracts.Delivered) == 0 })
	f.dead(large)
	if item := f.item(large); item.State != contracts.DeadAwaitingReview || item.Reason != contracts.ContractViolation || !strings.Contains(item.Errors[0].Message, "held") {
		t.Errorf("its dead letter is %s for %s: %+v", item.State, item.Reason, item.Errors)
	}
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
}
