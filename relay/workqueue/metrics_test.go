package workqueue

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// What a round has found tells whether anybody acts on the documents: a retry that has
// become due is not held to be as old as its document, and a lease that has run out is seen.
func TestARoundTellsWhatIsLate(t *testing.T) {
	r := onEmbedded(t)
	q, err := New(Config{Client: r.client, Vocabulary: vocabulary(false), Handler: HandlerFunc((&ledger{}).does)})
	if err != nil {
		t.Fatal(err)
	}
	gauges := func() (oldest, overdue, stale float64) {
		return testutil.ToFloat64(q.metrics.oldest), testutil.ToFloat64(q.metrics.overdue), testutil.ToFloat64(q.metrics.stale)
	}
	began := testutil.ToFloat64(q.metrics.rounds)
	if oldest, overdue, stale := gauges(); oldest != 0 || overdue != 0 || stale != 0 || began == 0 {
		t.Errorf("before a round: oldest %v, overdue %v, stale %v, last round %v", oldest, overdue, stale, began)
	}
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	r.put("errands/a:waits", map[string]any{"createdAt": ago(10 * time.Minute)})
	r.put("errands/a:retried", map[string]any{"createdAt": ago(5 * time.Hour), "dueAt": ago(time.Minute)})
	r.put("errands/a:later", map[string]any{"createdAt": ago(9 * time.Hour), "dueAt": now.Add(time.Hour)})
	r.put("errands/b:held", map[string]any{"status": "processing", "createdAt": ago(9 * time.Hour), "lockedAt": now})
	r.put("errands/b:stale", map[string]any{"status": "processing", "createdAt": ago(9 * time.Hour), "lockedAt": ago(time.Hour)})
	r.put("errands/b:done", map[string]any{"status": "done", "createdAt": ago(9 * time.Hour)})
	if _, err := q.round(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	const hour = 3600
	if oldest, overdue, stale := gauges(); oldest < 5*hour || oldest > 8*hour || overdue < 600 || overdue > hour || stale != 1 {
		t.Errorf("oldest %v, want 5 h; overdue %v, want 10 min; stale %v, want 1", oldest, overdue, stale)
	}
	if at := testutil.ToFloat64(q.metrics.rounds); at < began {
		t.Errorf("the last round ended at %v, before the queue began at %v", at, began)
	}
	for _, path := range []string{"errands/a:waits", "errands/a:retried", "errands/b:stale"} {
		if _, err := r.client.Doc(path).Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.round(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if oldest, overdue, stale := gauges(); oldest != 0 || overdue != 0 || stale != 0 {
		t.Errorf("when all is done: oldest %v, overdue %v, stale %v", oldest, overdue, stale)
	}
}
