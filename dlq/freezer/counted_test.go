package freezer_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// TestReleaseThatAnotherFinishedIsNotCounted: of two instances at one release, the one that
// finds the freeze gone has not finished it.
func TestReleaseThatAnotherFinishedIsNotCounted(t *testing.T) {
	f := setup(t)
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Release("acc-1")
	all, err := f.Queue.FreezesOf(t.Context(), "acc-1")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	for n, q := range []*dlq.Queue{f.Queue, f.NewQueue(f.Store)} {
		if _, done, err := q.EndRelease(t.Context(), all[0]); err != nil || done != (n == 0) {
			t.Errorf("instance %d has finished it: %t, %v", n, done, err)
		}
	}
	if n := f.Releases("acc-1"); n != 1 {
		t.Errorf("the audit tells of %d ends, want one", n)
	}
}

// TestReleaseWhoseAnswerIsLostIsCounted: the freeze is gone by the instance's own commit.
func TestReleaseWhoseAnswerIsLostIsCounted(t *testing.T) {
	f := setup(t)
	f.Config.Log = nil // it warns, as it may
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Release("acc-1")
	f.Server.Faults().Add(localfirestore.Fault{Method: "Commit", Collection: contracts.CollectionFrozen, Times: 1, LoseResponse: true, Code: codes.Canceled})
	f.Freezer(&dlqtest.Topic{})
	f.Eventually("it is counted", func() bool { return f.Counter("relay_dlq_releases_total", "done") == 1 })
	f.told("acc-1", 0)
}
