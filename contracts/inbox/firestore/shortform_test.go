package firestore_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts/inbox/firestore"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

// Whoever marked an event and did not hear of it was the first all the same: told that it is
// processed, nobody would handle it.
func TestMarkWhoseAnswerIsLostIsItsOwn(t *testing.T) {
	t.Parallel()
	_, address := firestoretest.Start(t, localfirestore.Options{})
	var commits, transactions atomic.Int32
	loseFirst := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		switch {
		case strings.HasSuffix(method, "/BeginTransaction"):
			transactions.Add(1)
		case strings.HasSuffix(method, "/Commit") && commits.Add(1) == 1 && err == nil:
			return status.Error(codes.Unavailable, "the answer is lost")
		}
		return err
	}
	client := firestoretest.Client(t, address, option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(loseFirst)))
	store := firestore.New(client.Client)
	for _, want := range []bool{false, true} {
		if already, err := store.CheckAndMarkProcessed(t.Context(), "c", "e", time.Hour); err != nil || already != want {
			t.Errorf("already processed is %v and %v, want %v", already, err, want)
		}
	}
	transactions.Store(0)
	if already, err := store.CheckAndMarkProcessed(t.Context(), "c", "another", time.Hour); err != nil || already || transactions.Load() != 0 {
		t.Errorf("a new event: already processed is %v and %v, with %d transactions, want none", already, err, transactions.Load())
	}
}
