package firestore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	sdk "cloud.google.com/go/firestore"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/firestore"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/thorough"
)

// expired is what Firestore says of a transaction that it has forgotten.
const expired = "The referenced transaction has expired or is no longer valid."

// A commit that fails as Firestore cannot be reached, or as others contend, is an outage; one that
// fails for what is in it is not, nor is a handler's failure in its own words.
func TestCommitThatPassesIsAnOutage(t *testing.T) {
	t.Parallel()
	server, address := firestoretest.Start(t, localfirestore.Options{})
	client := firestoretest.Client(t, address)
	store := firestore.New(client.Client)
	for _, test := range []struct {
		name    string
		code    codes.Code // of the commit; OK: it is not touched
		message string
		handler error
		want    contracts.Kind
	}{
		{"deadline", codes.DeadlineExceeded, "", nil, contracts.Outage},
		{"unauthenticated", codes.Unauthenticated, "", nil, contracts.Outage},
		{"permission", codes.PermissionDenied, "", nil, contracts.Attributable},
		{"too large", codes.InvalidArgument, "", nil, contracts.Attributable},
		{"expired", codes.InvalidArgument, expired, nil, contracts.Outage},
		{"it is there already", codes.OK, "", nil, contracts.Attributable},
		{"a read in the handler", codes.OK, "", status.Error(codes.Unavailable, "no"), contracts.Outage},
		{"a read in the handler, expired", codes.OK, "", status.Error(codes.InvalidArgument, expired), contracts.Outage},
		{"a handler's own call", codes.OK, "", status.Error(codes.ResourceExhausted, "no"), contracts.Attributable},
		{"a handler that knows", codes.OK, "", &contracts.Failure{Kind: contracts.Permanent, Err: status.Error(codes.Unavailable, "no")}, contracts.Permanent},
		{"a handler that fails", codes.OK, "", errors.New("no"), contracts.Attributable},
	} {
		t.Run(test.name, func(t *testing.T) {
			ask := claimed(t, store)
			if test.code != codes.OK {
				defer server.Faults().Add(localfirestore.Fault{Method: "Commit", Code: test.code, Message: test.message})()
			}
			err := store.Within(t.Context(), ask.Ref, time.Hour, func(_ context.Context, tx *sdk.Transaction) error {
				if test.handler != nil {
					return test.handler
				}
				return tx.Create(client.Collection(firestore.Collection).Doc("c:"+ask.EventID), map[string]any{})
			})
			if err == nil || contracts.KindOf(err) != test.want {
				t.Errorf("%v is %v, want %v", err, contracts.KindOf(err), test.want)
			}
		})
	}
}

// The client tries a transaction again that others stand in the way of, five times, and then says so.
func TestContendedCommitIsAnOutage(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	server, address := firestoretest.Start(t, localfirestore.Options{})
	store := firestore.New(firestoretest.Client(t, address).Client)
	ask, calls := claimed(t, store), 0
	defer server.Faults().Add(localfirestore.Fault{Method: "Commit", Code: codes.Aborted})()
	err := store.Within(t.Context(), ask.Ref, time.Hour, func(context.Context, *sdk.Transaction) error { calls++; return nil })
	if contracts.KindOf(err) != contracts.Outage || calls < 2 {
		t.Errorf("%v is %v after %d calls, want an outage after several", err, contracts.KindOf(err), calls)
	}
}

func claimed(t *testing.T, store *firestore.Store) inbox.Ask {
	t.Helper()
	ask := inbox.Ask{
		Ref:         inbox.Ref{Consumer: "c", EventID: uuid.NewString(), Token: "t"},
		AggregateID: uuid.NewString(), Version: 1, Lease: time.Hour, Keep: time.Hour,
	}
	if c, err := store.Claim(t.Context(), ask); err != nil || c.Verdict != inbox.Claimed {
		t.Fatal(c, err)
	}
	return ask
}

// The client asks again for a commit that is answered Unavailable, for longer than the inbox waits: that
// is no handler that hangs.
func TestCommitThatIsAskedForAgainIsNoTry(t *testing.T) {
	t.Parallel()
	server, address := firestoretest.Start(t, localfirestore.Options{})
	client := firestoretest.Client(t, address)
	store := firestore.New(client.Client)
	box := inbox.New(store, "billing", inbox.Options{
		Timeout: 10 * time.Millisecond, Grace: 100 * time.Millisecond, Delays: []time.Duration{time.Millisecond}, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var calls, attempt atomic.Int64
	var remove func()
	eventID := uuid.NewString()
	for !inbox.DeliverIn(ctx, box, store, envelope(eventID), nil, func(_ context.Context, tx *sdk.Transaction, e *inbox.Event) error {
		attempt.Store(int64(e.Attempt))
		switch calls.Add(1) {
		case 1:
			remove = server.Faults().Add(localfirestore.Fault{Method: "Commit", Code: codes.Unavailable, Collection: "effects"})
		case 2:
			remove()
		}
		return tx.Set(client.Collection("effects").Doc(eventID), map[string]any{})
	}) {
		if ctx.Err() != nil {
			t.Fatalf("called %d times, want it handled once Firestore takes commits", calls.Load())
		}
	}
	if calls.Load() < 2 || attempt.Load() != 1 {
		t.Errorf("handled in call %d as try %d, want a later call and the first try", calls.Load(), attempt.Load())
	}
}

func envelope(eventID string) []byte {
	return fmt.Appendf(nil, `{"event_id": %q, "event_name": "Paid", "event_version": 1, "occurred_at": "2026-02-19T12:00:00Z", "producer": "p", "trace_id": "t",
		"idempotency_key": "%[1]s:acc-1:1", "aggregate_id": "acc-1", "aggregate_version": 1, "payload": {}}`, eventID)
}
