package journal_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/deploy/local/crashtest"
	"outboxrelay/deploy/local/firestore/journal"
)

// What a full disk takes of a frame is cut off, and the journal goes on once there is
// room again.
func TestAFullDiskIsOverWhenThereIsRoom(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir)
	large := strings.Repeat("x", 1<<20) // beyond what else the process writes
	appendAll(t, j, large, "before")
	size := j.Size()
	lift := crashtest.LeaveRoom(t, dir, 20)
	for range 2 {
		if _, err := j.Append([]byte("more than there is room for")); !journal.Full(err) {
			t.Fatalf("want an error of a full disk, got %v", err)
		}
		if info, err := os.Stat(crashtest.Log(t, dir)); err != nil || info.Size() != size {
			t.Fatalf("the log has %d bytes, want %d; %v", info.Size(), size, err)
		}
	}
	appendAll(t, j, "small")
	lift()
	appendAll(t, j, "after")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, frames, torn := open(t, dir)
	defer j.Close()
	if d := cmp.Diff([]string{large, "before", "small", "after"}, frames); d != "" || torn != nil {
		t.Errorf("torn %v, %d frames", torn, len(frames))
	}
}
