package freezer_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq/dlqtest"
)

// TestReleaseTurnsBackWhatOtherCatalogsHold: the instance that finishes a release need not
// know the outbox, nor need any that does be alive.
func TestReleaseTurnsBackWhatOtherCatalogsHold(t *testing.T) {
	f := setup(t)
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Hold("wsOutbox", "TaskDone", "acc-1", 3)
	f.HoldElsewhere("billOutbox", "acc-1", 250)
	f.HoldElsewhere("billOutbox", "acc-2", 1)
	f.Freezer(&dlqtest.Topic{})
	f.Release("acc-1")
	f.Eventually("the freeze is gone", func() bool { return !f.Frozen("acc-1") })
	if pending, held := f.HavingIn("billOutbox", "acc-1", contracts.Pending), f.HavingIn("billOutbox", "acc-1", contracts.Held); pending != 250 || held != 0 {
		t.Errorf("%d pending and %d held in the outbox of another catalog; want 250, 0", pending, held)
	}
	if n := f.HavingIn("billOutbox", "acc-2", contracts.Held); n != 1 {
		t.Errorf("%d held of another aggregate, want 1", n)
	}
	f.Eventually("they are counted", func() bool { return f.Counter("relay_dlq_released_records_total") == 253 })
}

// TestReleaseWaitsForWhatCannotBeRead: as long as nobody can tell whether something is held,
// the freeze stands, and the other releases go on.
func TestReleaseWaitsForWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]localfirestore.Fault{
		"no index serves the outbox":   {Method: "RunQuery", Collection: "billOutbox", Code: codes.FailedPrecondition},
		"the outbox cannot be written": {Method: "Commit", Collection: "billOutbox", Code: codes.PermissionDenied},
		"the leases cannot be read":    {Method: "RunQuery", Collection: contracts.CollectionLeases, Code: codes.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			f.Config.Log = nil // it warns, as it should
			f.Die("accOutbox", "RoleChanged", "acc-1", 1)
			f.HoldElsewhere("billOutbox", "acc-1", 2)
			mend := f.Server.Faults().Add(fault)
			f.Freezer(&dlqtest.Topic{})
			f.Release("acc-1")
			f.Eventually("it is tried in vain, again and again", func() bool { return f.Counter("relay_dlq_releases_total", "failed") >= 3 })
			if !f.Frozen("acc-1") || f.Releases("acc-1") != 0 {
				t.Fatal("the freeze is gone, though its records are held")
			}
			mend()
			f.Eventually("the freeze is gone", func() bool { return !f.Frozen("acc-1") })
			if n := f.HavingIn("billOutbox", "acc-1", contracts.Pending); n != 2 {
				t.Errorf("%d records pending, want 2", n)
			}
		})
	}
}

// TestIdleFreezerReadsNoLeases: they are read for a release alone.
func TestIdleFreezerReadsNoLeases(t *testing.T) {
	f := setup(t)
	leases, polls := make(chan struct{}, 1000), make(chan struct{}, 1000)
	for collection, reads := range map[string]chan struct{}{contracts.CollectionLeases: leases, contracts.CollectionFrozen: polls} {
		f.Server.Faults().Add(localfirestore.Fault{Method: "RunQuery", Collection: collection, Match: func(localfirestore.Call) bool {
			select {
			case reads <- struct{}{}:
			default:
			}
			return false
		}})
	}
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Freezer(&dlqtest.Topic{})
	f.Eventually("it looked for releases a few times", func() bool { return len(polls) >= 5 })
	if n := len(leases); n != 0 {
		t.Errorf("%d reads of the leases, want none", n)
	}
	f.Release("acc-1")
	f.Eventually("the freeze is gone", func() bool { return !f.Frozen("acc-1") })
	if len(leases) == 0 {
		t.Error("the leases were not read for a release")
	}
}
