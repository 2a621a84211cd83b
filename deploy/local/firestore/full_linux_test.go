package firestore_test

import (
	"strings"
	"testing"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/local/crashtest"
	"outboxrelay/deploy/local/firestore"
)

// A commit for which there is no room fails as a whole, says why, and goes through
// when it is tried again later: also the commit of a transaction.
func TestCommitWithoutRoomIsTriedAgain(t *testing.T) {
	const database = "projects/test/databases/(default)"
	dir := t.TempDir()
	s, err := firestore.Open(firestore.Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	addr, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, addr)
	large := map[string]any{"text": strings.Repeat("x", 1_000_000)} // beyond what else the process writes
	if _, err := c.Doc("c/before").Set(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	begun, err := s.BeginTransaction(t.Context(), &pb.BeginTransactionRequest{Database: database})
	if err != nil {
		t.Fatal(err)
	}
	commit := &pb.CommitRequest{Database: database, Transaction: begun.GetTransaction()}
	for _, id := range []string{"one", "two"} {
		commit.Writes = append(commit.Writes, &pb.Write{Operation: &pb.Write_Update{Update: &pb.Document{Name: database + "/documents/c/" + id}}})
	}
	lift := crashtest.LeaveRoom(t, dir, 80) // for the first of the two alone
	_, err = s.Commit(t.Context(), commit)
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "file too large") {
		t.Errorf("want RESOURCE_EXHAUSTED and the cause, got %v", err)
	}
	want := map[string]map[string]any{"before": large}
	if d := cmp.Diff(want, all(t, c, "c")); d != "" {
		t.Errorf("without room (-want +got):\n%s", d)
	}
	lift()
	if _, err = s.Commit(t.Context(), commit); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, addr = start(t, firestore.Options{DataDir: dir})
	want["one"], want["two"] = map[string]any{}, map[string]any{}
	if d := cmp.Diff(want, all(t, dial(t, addr), "c")); d != "" {
		t.Errorf("opened again (-want +got):\n%s", d)
	}
}
