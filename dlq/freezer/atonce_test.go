package freezer_test

import (
	"context"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// TestReleaseThatTwoFinishAtOnceIsCountedOnce: of two instances that both found the freeze,
// the one whose commit is refused has not finished the release.
func TestReleaseThatTwoFinishAtOnceIsCountedOnce(t *testing.T) {
	f := setup(t)
	freeze := f.releasing("acc-1")
	behind := &behind{Store: f.Store, first: func() {
		if _, done, err := f.Queue.EndRelease(t.Context(), freeze); err != nil || !done {
			t.Errorf("the first has finished it: %t, %v", done, err)
		}
	}}
	if _, done, err := f.NewQueue(behind).EndRelease(t.Context(), freeze); err != nil || done {
		t.Errorf("the second has finished it: %t, %v", done, err)
	}
	if n := f.Releases("acc-1"); n != 1 {
		t.Errorf("the audit tells of %d ends, want one", n)
	}
}

// TestReleaseOfARestoredFreezeEnds: a restored freeze, whose release was under way in the
// backup, comes to its end beside the audit entry of the end that it had before.
func TestReleaseOfARestoredFreezeEnds(t *testing.T) {
	f := setup(t)
	freeze := f.releasing("acc-1")
	stored, err := f.Store.Get(t.Context(), contracts.CollectionFrozen, dlq.FreezeID("acc-1"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if _, done, err := f.Queue.EndRelease(t.Context(), freeze); err != nil || !done {
			t.Fatalf("end %d: %t, %v", n, done, err)
		}
		_, err := f.Store.Commit(t.Context(), []dlq.Write{{Collection: contracts.CollectionFrozen, ID: stored[0].ID, Op: dlq.OpCreate, Fields: stored[0].Fields}})
		if err != nil {
			t.Fatal(err)
		}
		freeze = f.freeze("acc-1")
	}
	if n := f.Releases("acc-1"); n != 2 {
		t.Errorf("the audit tells of %d ends, want two", n)
	}
}

// releasing freezes an aggregate and decides its release.
func (f *fixture) releasing(aggregate string) *dlq.Freeze {
	f.T.Helper()
	f.Die("accOutbox", "RoleChanged", aggregate, 1)
	f.Release(aggregate)
	return f.freeze(aggregate)
}

func (f *fixture) freeze(aggregate string) *dlq.Freeze {
	f.T.Helper()
	all, err := f.Queue.FreezesOf(f.T.Context(), aggregate)
	if err != nil || len(all) != 1 {
		f.T.Fatal(all, err)
	}
	return all[0]
}

// behind is the store of an instance whose first commit comes after another's.
type behind struct {
	dlq.Store

	first func()
}

func (b *behind) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	if b.first != nil {
		b.first()
		b.first = nil
	}
	return b.Store.Commit(ctx, writes)
}
