package firestore

import (
	"fmt"
	"path/filepath"
	"testing"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

const testDatabase = "projects/p/databases/(default)"

func commitOne(t testing.TB, s *Server, path string, n int64) {
	t.Helper()
	_, err := s.Commit(t.Context(), &pb.CommitRequest{Database: testDatabase, Writes: []*pb.Write{{
		Operation: &pb.Write_Update{Update: &pb.Document{
			Name:   testDatabase + "/documents/" + path,
			Fields: map[string]*pb.Value{"n": integerValue(n)},
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCompactionKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		commitOne(t, s, fmt.Sprintf("c/d%d", i%10), int64(i))
	}
	if err := s.compact(); err != nil {
		t.Fatal(err)
	}
	commitOne(t, s, "c/d0", 100)
	commitOne(t, s, "c/new", 101)
	if err := s.compact(); err != nil {
		t.Fatal(err)
	}
	commitOne(t, s, "c/newer", 102)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "0*"))
	if len(files) != 2 {
		t.Errorf("want one snapshot and one log, got %v", files)
	}
	s, err = Open(Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db := s.database(testDatabase)
	if got := db.docs.Len(); got != 12 {
		t.Errorf("want 12 documents, got %d", got)
	}
	for path, want := range map[string]int64{"c/d0": 100, "c/new": 101, "c/newer": 102, "c/d9": 49} {
		if got := db.get(path).document("", nil).Fields["n"].GetIntegerValue(); got != want {
			t.Errorf("%s: want %d, got %d", path, want, got)
		}
	}
}
