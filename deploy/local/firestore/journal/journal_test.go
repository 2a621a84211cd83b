package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/deploy/local/firestore/journal"
)

// open opens a directory and returns its frames.
func open(t *testing.T, dir string) (*journal.Journal, []string, *journal.Torn) {
	t.Helper()
	var frames []string
	j, torn, err := journal.Open(dir, func(frame []byte) error {
		frames = append(frames, string(frame))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return j, frames, torn
}

func appendAll(t *testing.T, j *journal.Journal, frames ...string) {
	t.Helper()
	for _, f := range frames {
		wait, err := j.Append([]byte(f))
		if err != nil {
			t.Fatal(err)
		}
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFramesComeBack(t *testing.T) {
	dir := t.TempDir()
	j, frames, _ := open(t, dir)
	if frames != nil {
		t.Errorf("want none at first, got %v", frames)
	}
	id := j.Instance()
	appendAll(t, j, "a", "", strings.Repeat("x", 3<<20), "b")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, frames, torn := open(t, dir)
	defer j.Close()
	if d := cmp.Diff([]string{"a", "", strings.Repeat("x", 3<<20), "b"}, frames); d != "" || torn != nil {
		t.Errorf("torn %v, -want +got:\n%s", torn, d)
	}
	if j.Instance() != id {
		t.Error("want the same instance")
	}
}

// TestTornAnywhere cuts a log at every byte: what was whole comes back, and the
// journal goes on after it.
func TestTornAnywhere(t *testing.T) {
	whole := t.TempDir()
	j, _, _ := open(t, whole)
	appendAll(t, j, "first", "second")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(logOf(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	first := 8 + len("first")
	for cut := range content {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(logOf(t, whole))), content[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		want := []string(nil)
		if cut >= first {
			want = []string{"first"}
		}
		j, frames, torn := open(t, dir)
		if d := cmp.Diff(want, frames); d != "" {
			t.Fatalf("cut at %d: -want +got:\n%s", cut, d)
		}
		if clean := cut == 0 || cut == first; clean != (torn == nil) {
			t.Fatalf("cut at %d: torn is %v", cut, torn)
		}
		appendAll(t, j, "after")
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j, frames, torn = open(t, dir)
		if d := cmp.Diff(append(want, "after"), frames); d != "" || torn != nil {
			t.Fatalf("cut at %d, again: torn %v, -want +got:\n%s", cut, torn, d)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamageBeforeTheTailIsAnError(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir)
	appendAll(t, j, "a", "b")
	if _, err := j.Rotate(); err != nil {
		t.Fatal(err)
	}
	appendAll(t, j, "c")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, fmt.Sprintf("%016d.log", 0))
	content, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	content[9] ^= 1
	if err := os.WriteFile(old, content, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := journal.Open(dir, func([]byte) error { return nil }); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("want an error that names the damage, got %v", err)
	}
}

func TestSnapshotReplacesWhatCameBefore(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir)
	appendAll(t, j, "a", "b")
	generation, err := j.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, j, "c") // beside the snapshot being written
	err = j.WriteSnapshot(generation, func(emit func([]byte) error) error { return emit([]byte("a and b")) })
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, j, "d")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, frames, _ := open(t, dir)
	defer j.Close()
	if d := cmp.Diff([]string{"a and b", "c", "d"}, frames); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestCrashBeforeTheSnapshotIsWhole(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir)
	appendAll(t, j, "a")
	if _, err := j.Rotate(); err != nil {
		t.Fatal(err)
	}
	appendAll(t, j, "b")
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%016d.partial", 1)), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, frames, _ := open(t, dir)
	defer j.Close()
	if d := cmp.Diff([]string{"a", "b"}, frames); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestAppendersShareSyncs(t *testing.T) {
	dir := t.TempDir()
	j, _, _ := open(t, dir)
	var order sync.Mutex // Append is for one caller at a time, its wait for any
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			order.Lock()
			wait, err := j.Append(fmt.Appendf(nil, "f%d", i))
			order.Unlock()
			if err == nil {
				err = wait()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, frames, _ := open(t, dir)
	defer j.Close()
	if len(frames) != 50 {
		t.Errorf("want 50 frames, got %d", len(frames))
	}
}

func logOf(t *testing.T, dir string) string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("want one log, got %v, %v", logs, err)
	}
	return logs[0]
}
