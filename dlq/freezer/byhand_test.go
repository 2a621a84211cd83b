package freezer_test

import (
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// TestReleaseByHand: a freeze that somebody set to be released in Firestore's console has no
// decision behind it. It comes to its end all the same, each of several.
func TestReleaseByHand(t *testing.T) {
	f := setup(t)
	f.Freezer(&dlqtest.Topic{})
	for _, aggregate := range []string{"acc-1", "acc-2", "acc-1"} {
		f.Die("accOutbox", "RoleChanged", aggregate, 1)
		f.Hold("wsOutbox", "TaskDone", aggregate, 2)
		_, err := f.Store.Commit(t.Context(), []dlq.Write{{
			Collection: contracts.CollectionFrozen, ID: dlq.FreezeID(aggregate), Op: dlq.OpMerge, Fields: map[string]any{dlq.FreezeFieldState: string(dlq.Releasing)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		f.Eventually(aggregate+" goes on", func() bool { return !f.Frozen(aggregate) && f.Having(aggregate, contracts.Held) == 0 })
	}
	if one, two := f.Releases("acc-1"), f.Releases("acc-2"); one != 2 || two != 1 {
		t.Errorf("the audit tells of %d and %d ends, want 2 and 1", one, two)
	}
}
