//go:build unix

package journal_test

import (
	"io/fs"
	"path/filepath"
	"testing"
)

// The directory holds what records say and the accounts' passwords, hashed: on a machine
// of several users it is its owner's alone.
func TestNobodyElseReadsTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	j, _, _ := open(t, dir)
	appendAll(t, j, "a")
	generation, err := j.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	if err := j.WriteSnapshot(generation, func(emit func([]byte) error) error { return emit([]byte("a")) }); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		if others := info.Mode().Perm() & 0o077; others != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || files < 5 { // the directory, its lock, its instance, a snapshot, a log
		t.Errorf("found %d files: %v", files, err)
	}
}
