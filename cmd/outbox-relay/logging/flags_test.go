package logging

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// writes counts what is written at once.
type writes struct {
	mu    sync.Mutex
	lines []int // of each write
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, bytes.Count(p, []byte("\n")))
	return len(p), nil
}

// Sync is what a file does at length, and is not to be asked for.
func (w *writes) Sync() error { panic("synced") }

func (w *writes) want(t *testing.T, when string, lines ...int) {
	t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(lines, w.lines) {
		t.Fatalf("%s: lines of each write are %v, want %v", when, w.lines, lines)
	}
}

func TestGatheredLinesAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w writes
		log, stop, err := Flags{LogLevel: "info", LogFormat: "json"}.GatheringLogger(&w, "p")
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			log.Info("published")
		}
		w.want(t, "at first")
		time.Sleep(gatherFor)
		w.want(t, "after a tenth of a second", 50)
		log.Info("published")
		log.Debug("not logged")
		log.Named("publisher").Warn("refused")
		w.want(t, "with a warning", 50, 2)
		log.Info("stopped")
		stop()
		w.want(t, "in the end", 50, 2, 1)
	})
}

func TestGatheringLoggerNamesALevelThatIsNone(t *testing.T) {
	_, _, err := Flags{LogLevel: "loud", LogFormat: "json"}.GatheringLogger(&writes{}, "p")
	if err == nil || !strings.Contains(err.Error(), "loud") {
		t.Errorf("error is %v, want one that names the level", err)
	}
}
