package firestore_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/poll"
	"outboxrelay/dlq"
)

// The SDK tries a commit again until its time is over, and then says that alone.
func TestCommitTellsWhatFirestoreAnsweredLast(t *testing.T) {
	for code, message := range map[codes.Code]string{
		codes.ResourceExhausted: "Quota exceeded for the day.",
		codes.Unavailable:       "Away for a moment.",
	} {
		t.Run(code.String(), func(t *testing.T) {
			c := newCloud(t)
			f := setup(t, c)
			faults := c.embedded.Faults()
			faults.Add(firestore.Fault{Method: "Commit", Code: code, Message: message})
			ctx, over := firestoretest.Late(t)
			failed := make(chan error, 1)
			go func() {
				_, err := f.db.CommitEach(ctx, []dlq.Write{{Collection: "things", ID: "one", Op: dlq.OpSet, Fields: map[string]any{"is": "there"}}})
				failed <- err
			}()
			if !poll.True(time.Minute, time.Millisecond, func() bool { return faults.List()[0].Hit > 1 }) {
				t.Fatal("the commit was not tried again")
			}
			over()
			err := <-failed
			if got := contracts.CodeOf(err); got != code.String() {
				t.Errorf("the commit failed with %s, want %s", got, code)
			}
			for _, told := range []string{"deadline exceeded", message} {
				if !strings.Contains(err.Error(), told) {
					t.Errorf("%q does not tell %q", err, told)
				}
			}
		})
	}
}

// A commit that nobody answers has nothing but that to tell.
func TestCommitWithoutAnAnswerIsLate(t *testing.T) {
	c := newCloud(t)
	f := setup(t, c)
	faults := c.embedded.Faults()
	faults.Add(firestore.Fault{Method: "Commit", Stall: true})
	ctx, over := firestoretest.Late(t)
	failed := make(chan error, 1)
	go func() {
		_, err := f.db.CommitEach(ctx, []dlq.Write{{Collection: "things", ID: "one", Op: dlq.OpSet, Fields: map[string]any{"is": "there"}}})
		failed <- err
	}()
	if !poll.True(time.Minute, time.Millisecond, func() bool { return faults.List()[0].Hit > 0 }) {
		t.Fatal("the commit did not come")
	}
	over()
	if err := <-failed; contracts.CodeOf(err) != codes.DeadlineExceeded.String() || strings.Contains(err.Error(), "last answer") {
		t.Errorf("%s, want DeadlineExceeded and no answer: %v", contracts.CodeOf(err), err)
	}
}
