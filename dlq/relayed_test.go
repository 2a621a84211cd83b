package dlq

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Who stopped or crashed a moment ago is taken to come back. A lease whose outbox left
// every catalog stays as it is, and tells nothing after a while.
func TestOutboxesThatSomebodyRelays(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	doc := func(id string, age time.Duration, fields map[string]any) Doc {
		return Doc{ID: id, UpdateTime: now.Add(-age), ReadTime: now, Fields: fields}
	}
	term := func(d time.Duration) map[string]any {
		return map[string]any{"kind": "lease", "termMillis": d.Milliseconds()}
	}
	able := map[string]any{"shares": []any{"registered", "sharded.0", 7}, "termMillis": int64(15_000)}
	got := relayedOutboxes(wordsOf([]Doc{
		doc("instance.c", time.Second, able), doc("instance.b", time.Hour, map[string]any{"shares": []any{"dead"}}), doc("instance.a", 0, nil),
		doc("owned", time.Second, term(15*time.Second)), doc("released", time.Minute, map[string]any{"kind": "lease"}), doc("long", 20*time.Minute, term(time.Hour)),
		doc("left", 11*time.Minute, term(15*time.Second)),
		doc("!bell", time.Second, map[string]any{"kind": "bell"}),
	}))
	want := map[string]bool{"registered": true, "sharded": true, "sharded.0": true, "owned": true, "released": true, "long": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outboxes (-want +got):\n%s", diff)
	}
}
