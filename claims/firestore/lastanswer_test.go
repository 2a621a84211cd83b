package firestore_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/claims"
	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/poll"
)

// The SDK tries a commit again until the attempt's time is over, and then says that alone.
func TestPutTellsWhatFirestoreAnsweredLast(t *testing.T) {
	server, address := firestoretest.Start(t, localfirestore.Options{})
	store, _ := setup(t, address)
	faults := server.Faults()
	faults.Add(localfirestore.Fault{Method: "Commit", Code: codes.ResourceExhausted, Message: "Quota exceeded for the day."})
	for name, before := range map[string]claims.Doc{"create": {}, "update": {UpdateTime: time.Unix(1, 0)}} {
		t.Run(name, func(t *testing.T) {
			ctx, over := firestoretest.Late(t)
			failed, hit := make(chan error, 1), faults.List()[0].Hit
			go func() {
				_, err := store.Put(ctx, claims.Ref{Collection: contracts.CollectionClaimsSnapshots, ID: "acc-1"}, before, map[string]any{"roles": "x"})
				failed <- err
			}()
			if !poll.True(time.Minute, time.Millisecond, func() bool { return faults.List()[0].Hit > hit+1 }) {
				t.Fatal("the commit was not tried again")
			}
			over()
			err := <-failed
			if contracts.CodeOf(err) != codes.ResourceExhausted.String() || contracts.KindOf(err) != contracts.Outage {
				t.Errorf("it is %s, %v; want ResourceExhausted, an outage", contracts.CodeOf(err), contracts.KindOf(err))
			}
			for _, told := range []string{"deadline exceeded", "Quota exceeded for the day."} {
				if !strings.Contains(err.Error(), told) {
					t.Errorf("%q does not tell %q", err, told)
				}
			}
		})
	}
}
