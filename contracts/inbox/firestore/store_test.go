package firestore_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "cloud.google.com/go/firestore"
	"github.com/google/uuid"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/firestore"
	"outboxrelay/contracts/inbox/inboxtest"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

func TestConforms(t *testing.T) {
	t.Parallel()
	_, address := firestoretest.Start(t, localfirestore.Options{})
	conforms(t, address)
}

func TestConformsOnGoogle(t *testing.T) { conforms(t, firestoretest.OnGoogle(t)) }

func conforms(t *testing.T, address string) {
	client := firestoretest.Client(t, address)
	store := firestore.New(client.Client)
	inboxtest.Conformance(t, func(*testing.T) inboxtest.Fixture { return inboxtest.Fixture{Store: store} })
}

// An event that was open before its document said whose it is holds back its aggregate as ever.
func TestEventsOfBeforeHoldBack(t *testing.T) {
	t.Parallel()
	_, address := firestoretest.Start(t, localfirestore.Options{})
	client := firestoretest.Client(t, address)
	store := firestore.New(client.Client)
	ask := func(eventID string, version int64) inbox.Ask {
		return inbox.Ask{
			Ref: inbox.Ref{Consumer: "c", EventID: eventID, Token: eventID}, AggregateID: "a/b", Version: version, Lease: time.Hour, Keep: time.Hour,
		}
	}
	if c, err := store.Claim(t.Context(), ask("first", 1)); err != nil || c.Verdict != inbox.Claimed {
		t.Fatal(c, err)
	}
	doc := client.Collection(firestore.Collection).Doc("c:first")
	if _, err := doc.Update(t.Context(), []sdk.Update{{Path: "aggregate", Value: sdk.Delete}}); err != nil {
		t.Fatal(err)
	}
	if c, err := store.Claim(t.Context(), ask("second", 2)); err != nil || c.Verdict != inbox.Behind {
		t.Errorf("got %v, %v, want it behind the first", c.Verdict, err)
	}
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	_, address := firestoretest.Start(t, localfirestore.Options{})
	transactions(t, address)
}

func TestTransactionsOnGoogle(t *testing.T) { transactions(t, firestoretest.OnGoogle(t)) }

func transactions(t *testing.T, address string) {
	client := firestoretest.Client(t, address)
	counter := func(eventID string) *sdk.DocumentRef { return client.Collection("effects").Doc(eventID) }
	inboxtest.Transactions(t, func(*testing.T) inboxtest.Ledger[*sdk.Transaction] {
		return inboxtest.Ledger[*sdk.Transaction]{
			Store: firestore.New(client.Client),
			Write: func(_ context.Context, tx *sdk.Transaction, eventID string) error {
				return tx.Set(counter(eventID), map[string]any{"n": sdk.Increment(1), "last": uuid.NewString()}, sdk.MergeAll)
			},
			Effects: func(t *testing.T, eventID string) int {
				t.Helper()
				snap, err := counter(eventID).Get(t.Context())
				if status.Code(err) == codes.NotFound {
					return 0
				}
				if err != nil {
					t.Fatal(err)
				}
				n, _ := snap.Data()["n"].(int64)
				return int(n)
			},
		}
	})
}

// Firestore keeps the locks of a transaction that nobody ends for minutes. Each way out of a handler ends its own.
func TestHandlerThatDoesNotReturnHasItsTransactionRolledBack(t *testing.T) {
	t.Parallel()
	_, address := firestoretest.Start(t, localfirestore.Options{})
	for name, leave := range map[string]func(){"panics": func() { panic("all is lost") }, "ends its goroutine": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			var rolledBack atomic.Int32
			count := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				if strings.HasSuffix(method, "/Rollback") {
					rolledBack.Add(1)
				}
				return invoke(ctx, method, req, reply, cc, opts...)
			}
			client := firestoretest.Client(t, address, option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(count)))
			store := firestore.New(client.Client)
			ask := inbox.Ask{Ref: inbox.Ref{Consumer: "c", EventID: "e", Token: "t"}, AggregateID: "a", Version: 1, Lease: time.Hour, Keep: time.Hour}
			if c, err := store.Claim(t.Context(), ask); err != nil || c.Verdict != inbox.Claimed {
				t.Fatal(c, err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() { _ = recover() }()
				_ = store.Within(t.Context(), ask.Ref, time.Hour, func(context.Context, *sdk.Transaction) error { leave(); return nil })
				t.Error("the handler's end is swallowed")
			}()
			<-ended
			if n := rolledBack.Load(); n != 1 {
				t.Errorf("%d transactions are rolled back, want the handler's", n)
			}
		})
	}
}

func BenchmarkFirestore(b *testing.B) {
	_, address := firestoretest.Start(b, localfirestore.Options{})
	inboxtest.Benchmark(b, firestore.New(firestoretest.Client(b, address).Client), inbox.Options{})
}
