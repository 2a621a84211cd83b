package dlq_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// TestSiblingsOnGoogle walks through what the siblings ask of Firestore, where
// Google's emulator answers.
func TestSiblingsOnGoogle(t *testing.T) {
	f := dlqtest.SetupOnGoogle(t)
	first, second := f.Letter("wsOutbox", "TaskDone", "ws-1", 1), f.Letter("wsOutbox", "TaskDone", "ws-1", 2)
	f.Bury(second, first)
	blocked := f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	for k := range 120 { // more than a page of alerts
		f.Die("accOutbox", "RoleChanged", fmt.Sprint("acc-other-", k), 1)
	}
	f.Hold("wsOutbox", "TaskDone", "acc-1", 250)
	f.Reviewable(30)
	b := f.Bulk(dlqtest.Granted, 500)
	topic := &dlqtest.Topic{}
	f.Replayer()
	f.Review()
	f.Freezer(topic)

	f.Reaches(second.ID, contracts.DeadReplayed)
	f.Decide(blocked.ID, dlq.Authorize, dlqtest.Security)
	f.Decide(blocked.ID, dlq.Replay, dlqtest.Operator)
	f.Reaches(blocked.ID, contracts.DeadReplayed)
	f.Release("acc-1")
	f.Eventually("the freeze is gone", func() bool { return !f.Frozen("acc-1") })
	if n := f.Having("acc-1", contracts.Pending); n != 250 {
		t.Errorf("%d records pending, want 250", n)
	}
	f.Eventually("all alerts are marked", func() bool { return f.AllMarked(121) })
	published := make(map[string]bool)
	for _, m := range topic.Messages() { // one is published again if its mark was not answered in time
		published[m.Attributes["deadLetter"]] = true
	}
	if n := len(published); n != 121 {
		t.Errorf("alerts of %d dead letters published, want 121", n)
	}
	want := map[string]int{"total": 30, "delivered": 30, "failed": 0, "skipped": 0, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, dlqtest.Numbers(f.Ends(b, dlq.BulkDone))); diff != "" {
		t.Errorf("numbers of the bulk replay (-want +got):\n%s", diff)
	}
}
