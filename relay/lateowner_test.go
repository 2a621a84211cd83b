package relay

import (
	"math"
	"testing"
	"time"

	"outboxrelay/contracts"
)

// idle is the grant of a lease that nobody had for so long.
type idle struct {
	always
	since time.Duration
}

func (g idle) Idle() time.Duration { return g.since }

// What is in backoff is looked at with each page for as long as a mark of the owner
// before may come; after that, with the first pages alone. Without leases nobody knows
// when the process before ended.
func TestLateMarksAreLookedForWhileTheyMayCome(t *testing.T) {
	r, _ := newTestRelay(t)
	now := time.Now()
	r.now = func() time.Time { return now }
	within := r.tuning.CommitTimeout
	for _, test := range []struct{ idle, want time.Duration }{
		{0, within}, {time.Second, within - time.Second}, {within, 0}, {2 * within, 0}, {math.MaxInt64, 0},
	} {
		o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, idle{since: test.idle})
		if got := max(o.begun.until.Sub(now), 0); got != test.want {
			t.Errorf("idle for %v: they may come for %v, want %v", test.idle, got, test.want)
		}
		if o.begun.over.Load() {
			t.Errorf("idle for %v: nothing is looked at before the first delivery", test.idle)
		}
	}
	o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, always{})
	if got := o.begun.until.Sub(now); got != within || o.begun.over.Load() {
		t.Errorf("without leases they may come for %v, want %v; deliveries begin at once: %v", got, within, o.begun.over.Load())
	}
}
