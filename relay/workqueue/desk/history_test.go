package desk_test

import (
	"strings"
	"testing"
	"time"

	"outboxrelay/relay/workqueue/desk"
)

// TestHistoryTellsNoFailureOfAnAttemptUnderWay: the attempts of a document that a worker has may count the one
// under way, or one whose worker died, of which its last error does not tell.
func TestHistoryTellsNoFailureOfAnAttemptUnderWay(t *testing.T) {
	r := onEmbedded(t)
	path := r.event(palms, "processing", 0, map[string]any{"attempts": 3, "lastErrorCode": "UNAVAILABLE", "lockUntil": time.Now().Add(time.Minute)})
	i, err := r.QueueItem(t.Context(), "notifications", path)
	if err != nil {
		t.Fatal(err)
	}
	told := false
	for _, e := range i.History {
		if e.Kind == desk.EventFailed {
			told = true
			if !strings.Contains(e.Text, "UNAVAILABLE") || strings.Contains(e.Text, "attempt 3") {
				t.Errorf("attempt 3 is under way, and its history says %q", e.Text)
			}
		}
	}
	if !told {
		t.Errorf("its last failure is not told: %+v", i.History)
	}
}
