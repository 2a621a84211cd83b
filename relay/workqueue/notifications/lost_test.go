package notifications

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc"
)

// Who loses the event after he looked, and before that commit of a dispatch, leaves
// everything as it is: what the commits before it wrote, and nothing else.
func testLostInBetween(t *testing.T, f *fixture) {
	f.settings.BatchSize = 2
	const chunks = 3
	for before := range chunks {
		tenant := f.tenant(fmt.Sprint("n", before), people(2*chunks)...)
		ref := f.event(tenant)
		if err := f.dispatchLosing(ref, before+1); !isLost(err) {
			t.Errorf("lost before commit %d: got %v, want the claim to be lost", before+1, err)
		}
		f.wantTaken(ref)
		if got := len(f.bells(tenant)); got != 2*before {
			t.Errorf("lost before commit %d: %d have the notification, want the %d of the commits before", before+1, got, 2*before)
		}
	}
	tenant := f.tenant("twin", twoAdmins...)
	f.mustDispatch(f.event(tenant, with("dedupeKey", "same")), Emitted)
	twin := f.event(tenant, with("dedupeKey", "same"))
	if err := f.dispatchLosing(twin, 1); !isLost(err) {
		t.Errorf("lost before it ended as a duplicate: got %v, want the claim to be lost", err)
	}
	f.wantTaken(twin)
}

// A key that was used before the window leaves its marker, which both of two events find. One
// that looked before the other's commit does not write over it.
func testSameMomentLater(t *testing.T, f *fixture) {
	tenant := f.tenant("a", twoAdmins...)
	old := f.event(tenant, with("dedupeKey", "same"))
	f.mustDispatch(old, Emitted)
	f.age(tenant, "same", old.ID)
	first, second := f.event(tenant, with("dedupeKey", "same")), f.event(tenant, with("dedupeKey", "same"))
	slow := f.newHandler(f.before(1, func() { f.mustDispatch(second, Emitted) }), nil)
	sum, err := slow.attempt(t.Context(), f.claim(slow, first))
	if err != nil || sum.result != Deduped {
		t.Errorf("the slower of two: %q, %v, want %s", sum.result, err, Deduped)
	}
	if got := f.bells(tenant); len(got["ana"]) != 2 {
		t.Errorf("bells %v, want the old event and one of the two", got)
	}
}

// before opens a client that does something before its n-th commit, counted from 1.
func (f *fixture) before(n int, do func()) *firestore.Client {
	f.t.Helper()
	var commits atomic.Int64
	return f.client(grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if method == "/google.firestore.v1.Firestore/Commit" && commits.Add(1) == int64(n) {
			do()
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}))
}

const another = "another"

// dispatchLosing makes an attempt at the event, which another worker takes before the n-th commit.
func (f *fixture) dispatchLosing(ref *firestore.DocumentRef, n int) error {
	f.t.Helper()
	h := f.newHandler(f.before(n, func() {
		if _, err := ref.Update(context.Background(), []firestore.Update{{Path: fieldWorkerID, Value: another}}); err != nil {
			f.t.Error(err)
		}
	}), nil)
	_, err := h.attempt(f.t.Context(), f.claim(h, ref))
	return err
}

// wantTaken checks that the event is as the other worker has it.
func (f *fixture) wantTaken(ref *firestore.DocumentRef) {
	f.t.Helper()
	got := f.fields(relative(ref))
	if got[fieldStatus] != StatusProcessing || got[fieldWorkerID] != another || got[fieldQueueID] != nil {
		f.t.Errorf("event is %v, want it in the other worker's hands", got)
	}
}
