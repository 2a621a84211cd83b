package freezer_test

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// told checks how many records the audit says that the last release of an aggregate turned
// back, and that nothing is left of its count.
func (f *fixture) told(aggregate string, want int) {
	f.T.Helper()
	p, err := f.Queue.Audit(f.T.Context(), dlq.AuditFilter{On: aggregate, Action: dlq.ActionReleased}, dlq.Page{})
	if err != nil {
		f.T.Fatal(err)
	}
	text := fmt.Sprintf("decided by %s; %d held records turned back", dlqtest.Security.Name, want)
	if len(p.Items) == 0 {
		f.T.Fatal("the audit says nothing of the release's end")
	}
	if got := p.Items[0].Reason; got != text {
		f.T.Errorf("the audit says %q, want %q", got, text)
	}
	count := contracts.CollectionFrozen + "/" + dlq.FreezeID(aggregate) + "/release"
	left, err := f.Store.Query(f.T.Context(), dlq.Query{Collection: count, Limit: 10})
	if err != nil {
		f.T.Fatal(err)
	}
	if len(left) != 0 {
		f.T.Errorf("%d documents of the count are left", len(left))
	}
}

// TestReleaseCountsAll: also what an earlier run turned back before it failed, and what was
// turned back by a commit whose answer was lost.
func TestReleaseCountsAll(t *testing.T) {
	f := setup(t)
	f.Config.Log = nil // it warns, as it should
	f.Die("accOutbox", "RoleChanged", "acc/1", 1)
	f.Hold("accOutbox", "AccountCreated", "acc/1", 450)
	f.Hold("wsOutbox", "TaskDone", "acc/1", 30)
	f.Server.Faults().Add(localfirestore.Fault{Method: "Commit", Collection: "accOutbox", Skip: 1, Times: 1, LoseResponse: true, Code: codes.Canceled})
	mend := f.Server.Faults().Add(localfirestore.Fault{Method: "Commit", Collection: "wsOutbox", Code: codes.PermissionDenied})
	f.Freezer(&dlqtest.Topic{})
	f.Release("acc/1")
	f.Eventually("it failed a few times", func() bool { return f.Counter("relay_dlq_releases_total", "failed") >= 3 })
	mend()
	f.Eventually("the freeze is gone", func() bool { return !f.Frozen("acc/1") })
	f.told("acc/1", 480)
}

// TestReleaseCountsItsOwn: what a release turned back that another death ended is not the
// next one's.
func TestReleaseCountsItsOwn(t *testing.T) {
	f := setup(t)
	f.Config.Log = nil // it warns, as it should
	f.Die("accOutbox", "RoleChanged", "acc/1", 1)
	f.Hold("wsOutbox", "TaskDone", "acc/1", 230)
	mend := f.Server.Faults().Add(localfirestore.Fault{Method: "Commit", Collection: "wsOutbox", Skip: 1, Code: codes.PermissionDenied})
	f.Freezer(&dlqtest.Topic{})
	f.Release("acc/1")
	f.Eventually("it failed a few times", func() bool { return f.Counter("relay_dlq_releases_total", "failed") >= 3 })
	f.Die("accOutbox", "RoleChanged", "acc/1", 2)
	mend()
	f.Release("acc/1")
	f.Eventually("the freeze is gone", func() bool { return !f.Frozen("acc/1") })
	f.told("acc/1", 30)

	f.Die("accOutbox", "RoleChanged", "acc/1", 3)
	f.Release("acc/1")
	f.Eventually("the freeze is gone again", func() bool { return !f.Frozen("acc/1") })
	f.told("acc/1", 0)
}
