package journal

import (
	"os"
	"testing"
)

// unsyncable puts a pipe in the log's place: it takes what is written, and
// refuses to be synced.
func unsyncable(t *testing.T) *Journal {
	t.Helper()
	j, _, err := Open(t.TempDir(), func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	log := j.log
	j.log = w
	t.Cleanup(func() {
		j.log = log
		w.Close()
		r.Close()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// What cannot be synced is not acknowledged, and nothing is taken after it.
func TestNothingIsDurableWithoutASync(t *testing.T) {
	j := unsyncable(t)
	wait, err := j.Append([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(); err == nil {
		t.Error("it is told to be on the disk")
	}
	if _, err := j.Append([]byte("b")); err == nil {
		t.Error("a frame is taken after one that may be lost")
	}
}

// A log that is left for the next one is synced first: who waits for a frame of
// it must not be told by the sync of another file.
func TestALogIsSyncedBeforeTheNextBegins(t *testing.T) {
	j := unsyncable(t)
	wait, err := j.Append([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Rotate(); err == nil {
		t.Error("the next log begins")
	}
	if err := wait(); err == nil {
		t.Error("it is told to be on the disk")
	}
}
