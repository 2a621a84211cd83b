package firestore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	localfirestore "outboxrelay/deploy/local/firestore"
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
	listen := func(collection string) (*firestore.QuerySnapshotIterator, *dlqfirestore.Heard) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		ctx, heard := dlqfirestore.Hear(ctx, most)
		return f.db.Collection(collection).Snapshots(ctx), heard
	}
	snapshot := func(it *firestore.QuerySnapshotIterator, heard *dlqfirestore.Heard, changes int) {
		t.Helper()
		snap, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, over := heard.Over(); over || len(snap.Changes) != changes {
			t.Fatalf("a snapshot of %d changes, over its bytes: %t, want %d within them", len(snap.Changes), over, changes)
		}
	}
	overflows := func(it *firestore.QuerySnapshotIterator, heard *dlqfirestore.Heard) {
		t.Helper()
		_, err := it.Next()
		if status.Code(err) != codes.OutOfRange {
			t.Fatalf("the listener ended with %v, want OutOfRange", err)
		}
		told, over := heard.Over()
		if !over || told.Documents != 10 || told.Bytes <= most || told.Bytes > most+2*size {
			t.Errorf("told %+v of more than might come, %t, want 10 documents of %d bytes and little more", told, over, size)
		}
	}
	write("within", 8)
	it, heard := listen("within")
	snapshot(it, heard, 8)
	write("within", 8)
	snapshot(it, heard, 8)
	write("within", 20)
	overflows(it, heard)

	write("beyond", 20)
	overflows(listen("beyond"))
}

// The SDK opens a stream again by itself, and says nothing of it.
func TestHeardOfAStreamThatIsOpenedAgain(t *testing.T) {
	c := newCloud(t)
	f := setup(t, c)
	ctx, heard := dlqfirestore.Hear(t.Context(), 0)
	it := f.db.Collection("again").Snapshots(ctx)
	write := func(id string) {
		t.Helper()
		if _, err := f.db.Collection("again").Doc(id).Set(ctx, map[string]any{"is": "here"}); err != nil {
			t.Fatal(err)
		}
	}
	tells := func(what string, changes int, want bool) {
		t.Helper()
		snap, err := it.Next()
		if err != nil || len(snap.Changes) != changes {
			t.Fatalf("%s has %+v, %v; want %d changes", what, snap, err, changes)
		}
		if got := heard.Opened(); got != want {
			t.Errorf("%s is the first of a stream: %t, want %t", what, got, want)
		}
	}
	write("a")
	tells("the first snapshot", 1, true)
	write("b")
	tells("the second", 1, false)
	if n := c.embedded.Faults().DropStreams(localfirestore.Drop{Collection: "again", Code: codes.Unavailable}); n != 1 {
		t.Fatalf("%d streams were dropped, want 1", n)
	}
	write("c")
	tells("the next, of another stream,", 1, true)
	write("d")
	tells("the one after it", 1, false)
}
