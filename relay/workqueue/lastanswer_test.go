package workqueue

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"

	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/poll"
)

// The SDK tries a commit again until its time is over, and then says that alone.
func TestWritesTellWhatFirestoreAnsweredLast(t *testing.T) {
	r := onEmbedded(t)
	r.put("errands/a:1", nil)
	r.put("errands/a:2", nil)
	q, err := New(Config{Client: r.client, Vocabulary: vocabulary(false), Handler: HandlerFunc((&ledger{}).does)})
	if err != nil {
		t.Fatal(err)
	}
	found := func(path string) *item {
		snap, err := r.client.Doc(path).Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return &item{state: q.vocabulary.look(snap), tenant: "a"}
	}
	c, _, err := q.claim(t.Context(), found("errands/a:1"))
	if err != nil {
		t.Fatal(err)
	}
	open := found("errands/a:2")
	faults := r.server.Faults()
	faults.Add(localfirestore.Fault{Method: "Commit", Code: codes.ResourceExhausted, Message: "Quota exceeded for the day."})
	for name, write := range map[string]func(ctx context.Context) error{
		"claim": func(ctx context.Context) error { _, _, err := q.claim(ctx, open); return err },
		"end":   func(ctx context.Context) error { _, err := c.settle(ctx, settlement{outcome: done}); return err },
		"transaction": func(ctx context.Context) error {
			return c.Transaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
				return tx.Set(r.client.Doc("things/a"), map[string]any{"is": "there"})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, over := firestoretest.Late(t)
			failed, hit := make(chan error, 1), faults.List()[0].Hit
			go func() { failed <- write(ctx) }()
			if !poll.True(time.Minute, time.Millisecond, func() bool { return faults.List()[0].Hit > hit+1 }) {
				t.Fatal("the commit was not tried again")
			}
			over()
			err := <-failed
			for _, told := range []string{"deadline exceeded", "Quota exceeded for the day."} {
				if !strings.Contains(err.Error(), told) {
					t.Errorf("%q does not tell %q", err, told)
				}
			}
		})
	}
}
