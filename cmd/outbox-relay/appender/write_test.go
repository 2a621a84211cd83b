package appender_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/cmd/outbox-relay/appender"
	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/poll"
)

// Who appends to a Firestore that takes nothing any more is told so, and not only that
// it took too long.
func TestWriteTellsWhatFirestoreAnsweredLast(t *testing.T) {
	server, address := firestoretest.Start(t, firestore.Options{})
	client := firestoretest.Client(t, address)
	server.Faults().Add(firestore.Fault{Method: "Commit", Code: codes.ResourceExhausted, Message: "Quota exceeded."})
	ctx, over := firestoretest.Late(t)
	failed := make(chan error, 1)
	go func() {
		_, err := appender.Write(ctx, client.Client, []appender.Record{{Outbox: "wsOutbox", ID: "one", Fields: map[string]any{}}})
		failed <- err
	}()
	if !poll.True(time.Minute, time.Millisecond, func() bool { return server.Faults().List()[0].Hit > 1 }) {
		t.Fatal("the commit was not tried again")
	}
	over()
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "Quota exceeded.") {
		t.Errorf("it failed with %v, want what Firestore said", err)
	}
}
