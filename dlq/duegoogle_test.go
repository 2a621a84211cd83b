package dlq_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// TestSiblingsOnGoogle walks through what the siblings ask of Firestore, where
// Google's emulator answers.
func TestSiblingsOnGoogle(t *testing.T) {
	f := setupOnGoogle(t)
	first, second := f.letter("wsOutbox", "TaskDone", "ws-1", 1), f.letter("wsOutbox", "TaskDone", "ws-1", 2)
	f.bury(second, first)
	blocked := f.die("accOutbox", "RoleChanged", "acc-1", 1)
	for k := range 120 { // more than a page of alerts
		f.die("accOutbox", "RoleChanged", fmt.Sprint("acc-other-", k), 1)
	}
	f.hold("wsOutbox", "TaskDone", "acc-1", 250)
	f.reviewable(30)
	b := f.bulk(granted, 500)
	topic := &topic{}
	f.replayer()
	f.review()
	f.freezer(topic)

	f.reaches(second.ID, contracts.DeadReplayed)
	f.decide(blocked.ID, dlq.Authorize, security)
	f.decide(blocked.ID, dlq.Replay, operator)
	f.reaches(blocked.ID, contracts.DeadReplayed)
	f.release("acc-1")
	f.eventually("the freeze is gone", func() bool { return !f.frozen("acc-1") })
	if n := f.having("acc-1", contracts.Pending); n != 250 {
		t.Errorf("%d records pending, want 250", n)
	}
	f.eventually("all alerts are marked", func() bool { return f.allMarked(121) })
	published := make(map[string]bool)
	for _, m := range topic.messages() { // one is published again if its mark was not answered in time
		published[m.attributes["deadLetter"]] = true
	}
	if n := len(published); n != 121 {
		t.Errorf("alerts of %d dead letters published, want 121", n)
	}
	want := map[string]int{"total": 30, "delivered": 30, "failed": 0, "skipped": 0, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, numbers(f.ends(b, dlq.BulkDone))); diff != "" {
		t.Errorf("numbers of the bulk replay (-want +got):\n%s", diff)
	}
}
