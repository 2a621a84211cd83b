package journal

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is left of a frame and could not be cut off at once is cut off before anything
// else: a frame behind it would be lost, and a log that is not the last must be whole.
func TestATornLogIsMendedFirst(t *testing.T) {
	for name, next := range map[string]func(j *Journal) error{
		"append": func(*Journal) error { return nil },
		"rotate": func(j *Journal) error { _, err := j.Rotate(); return err },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(j *Journal, frame string) error {
				wait, err := j.Append([]byte(frame))
				if err != nil {
					return err
				}
				return wait()
			}
			j, _, err := Open(dir, func([]byte) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if err := put(j, "before"); err != nil {
				t.Fatal(err)
			}
			log := j.log
			if j.log, err = j.root.Open(filepath.Base(log.Name())); err != nil { // neither written nor cut
				t.Fatal(err)
			}
			if err := put(j, "lost"); err == nil {
				t.Fatal("it is taken")
			}
			if err := put(j, "lost"); err == nil {
				t.Fatal("a frame is taken behind a torn one")
			}
			if err := j.log.Close(); err != nil {
				t.Fatal(err)
			}
			j.log = log
			if _, err := log.WriteString("half a frame, and more than its head"); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(next(j), put(j, "after"), j.Close()); err != nil {
				t.Fatal(err)
			}
			var frames []string
			j, _, err = Open(dir, func(frame []byte) error { frames = append(frames, string(frame)); return nil })
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if d := cmp.Diff([]string{"before", "after"}, frames); d != "" {
				t.Error(d)
			}
		})
	}
}
