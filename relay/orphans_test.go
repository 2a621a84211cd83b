package relay_test

import (
	"strings"
	"testing"

	"outboxrelay/contracts"
)

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
	if _, err := f.db.Doc(large.Path()).Set(t.Context(), fields); err != nil {
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
