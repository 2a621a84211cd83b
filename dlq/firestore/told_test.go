package firestore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	dlqfirestore "outboxrelay/dlq/firestore"
)

func TestListenerWithinBytes(t *testing.T)         { listenerWithinBytes(t, newCloud(t)) }
func TestListenerWithinBytesOnGoogle(t *testing.T) { listenerWithinBytes(t, onGoogle(t)) }

// What counts is what comes at once: a listener that is told as much in several
// snapshots goes on.
func listenerWithinBytes(t *testing.T, c *cloud) {
	f := setup(t, c)
	const size, most = 10 << 10, 100 << 10
	writes := 0
	write := func(collection string, n int) {
		t.Helper()
		writes++          // what is as it was is not told
		b := f.db.Batch() //nolint:staticcheck // one commit, which is one snapshot
		for i := range n {
			b.Set(f.db.Collection(collection).Doc(fmt.Sprint(i)), map[string]any{"write": writes, "text": strings.Repeat("x", size)})
		}
		if _, err := b.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	listen := func(collection string) (*firestore.QuerySnapshotIterator, *dlqfirestore.Overflow) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		ctx, overflow := dlqfirestore.Within(ctx, most)
		return f.db.Collection(collection).Snapshots(ctx), overflow
	}
	snapshot := func(it *firestore.QuerySnapshotIterator, overflow *dlqfirestore.Overflow, changes int) {
		t.Helper()
		snap, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, over := overflow.Told(); over || len(snap.Changes) != changes {
			t.Fatalf("a snapshot of %d changes, over its bytes: %t, want %d within them", len(snap.Changes), over, changes)
		}
	}
	overflows := func(it *firestore.QuerySnapshotIterator, overflow *dlqfirestore.Overflow) {
		t.Helper()
		_, err := it.Next()
		if status.Code(err) != codes.OutOfRange {
			t.Fatalf("the listener ended with %v, want OutOfRange", err)
		}
		told, over := overflow.Told()
		if !over || told.Documents != 10 || told.Bytes <= most || told.Bytes > most+2*size {
			t.Errorf("told %+v of more than might come, %t, want 10 documents of %d bytes and little more", told, over, size)
		}
	}
	write("within", 8)
	it, overflow := listen("within")
	snapshot(it, overflow, 8)
	write("within", 8)
	snapshot(it, overflow, 8)
	write("within", 20)
	overflows(it, overflow)

	write("beyond", 20)
	overflows(listen("beyond"))
}
