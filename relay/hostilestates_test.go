package relay_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// A record that says that it is in backoff, and not soundly until when, does not
// wait.
func TestHostileRetrying(t *testing.T) { hostileRetrying(t, newCloud(t)) }

func TestHostileRetryingOnGoogle(t *testing.T) { hostileRetrying(t, onGoogle(t)) }

func hostileRetrying(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.withQueue(nil)
	f.tuning.SweepInterval, f.tuning.SweepAge = 200*time.Millisecond, 600*time.Millisecond
	paths := make(map[string]hostile)
	for i, at := range []any{absent{}, nil, time.Time{}, "soon"} {
		h := hostile{name: fmt.Sprintf("retrying at %v", at), change: func(fields map[string]any) {
			fields["status"] = "retrying"
			sets("nextAttemptAt", at)(fields)
		}}
		if at == "soon" {
			h.fault = "nextAttemptAt"
		}
		path, _ := f.appendHostile(f.record("wsOutbox", "TaskCompleted", fmt.Sprint("early-", i), 1), h)
		paths[path] = h
	}
	f.run()
	f.through(paths)
	f.judgeHostile(paths)
}

// A record that was appended as one in backoff, or as held, is found by the sweep.
func TestHostileStatuses(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	f.tuning.SweepInterval, f.tuning.SweepAge = 200*time.Millisecond, 600*time.Millisecond
	f.run().alive()
	paths := make(map[string]hostile)
	for _, st := range []string{"retrying", "held"} {
		h := hostile{name: st, change: sets("status", st)}
		path, _ := f.appendHostile(f.record("wsOutbox", "TaskCompleted", st, 1), h)
		paths[path] = h
	}
	f.through(paths)
	f.judgeHostile(paths)
}

// What a record says of its attempts does not confuse those that follow.
func TestHostileAttemptsThatFail(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	f.retries(3, time.Millisecond)
	f.script(func(context.Context, string, *contracts.Record) error {
		return own()
	})
	f.run()
	for i, attempts := range []int64{1, 1e12, math.MaxInt32, math.MaxInt64 - 1, math.MaxInt64} {
		record := f.record("wsOutbox", "TaskCompleted", fmt.Sprint("tried-", i), 1)
		f.appendHostile(record, hostile{change: sets("attempts", attempts)})
		f.dead(record)
		item := f.item(record)
		if item.Reason != contracts.AttemptsExhausted || item.Attempts < 3 {
			t.Errorf("one that came with %d attempts is dead after %d for %s", attempts, item.Attempts, item.Reason)
		}
	}
}

// Records that all claim an odd time fill windows and pages, and hold nobody up.
func TestHostileTimesInFlood(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	hostileTimesInFlood(t, newCloud)
}

func TestHostileTimesInFloodOnGoogle(t *testing.T) {
	onGoogle(t) // or skips
	hostileTimesInFlood(t, onGoogle)
}

func hostileTimesInFlood(t *testing.T, start func(*testing.T) *cloud) {
	const flood = 36 // windows hold 10
	for name, value := range map[string]any{
		"first instant": time.Time{}, "before the canary": time.Unix(-1, 0), "next year": time.Now().AddDate(1, 0, 0),
		"last instant": time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
		"null":         nil, "number": 7, "text": "today", "map": map[string]any{},
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, start(t))
			f.withQueue(nil)
			f.shrink(10, 20)
			f.tuning.PageSize, f.tuning.SweepInterval, f.tuning.SweepAge = 5, 200*time.Millisecond, 600*time.Millisecond
			h := hostile{name: name, change: sets("createdAt", value)}
			if _, isTime := value.(time.Time); !isTime {
				h.fault = "createdAt"
			}
			paths := make(map[string]hostile)
			before := f.series("wsOutbox", "TaskCompleted", "before", 1, 10)
			f.append(before, 5)
			for i := range flood {
				path, _ := f.appendHostile(f.record("wsOutbox", "TaskCompleted", fmt.Sprint("flood-", i), 1), h)
				paths[path] = h
			}
			after := f.series("wsOutbox", "TaskCompleted", "after", 1, 10)
			f.append(after, 5)
			r := f.run()
			if got := f.delivered(append(before, after...)); got.missing+got.disordered > 0 {
				t.Errorf("ordinary records: got %+v, want every one in order", got)
			}
			f.through(paths)
			f.judgeHostile(paths)
			live := f.series("wsOutbox", "TaskCompleted", "live", 1, 3)
			for i := range flood {
				path, _ := f.appendHostile(f.record("wsOutbox", "TaskCompleted", fmt.Sprint("late-", i), 1), h)
				paths[path] = h
				if i%12 == 0 {
					f.append(live[i/12:i/12+1], 1)
				}
			}
			if got := f.delivered(live); got.missing+got.disordered > 0 {
				t.Errorf("ordinary records: got %+v, want every one in order", got)
			}
			f.through(paths)
			f.judgeHostile(paths)
			r.stop()
		})
	}
}

// A record under SECURITY_BLOCK freezes its aggregate, whatever that is called.
func TestHostileAggregatesFreeze(t *testing.T) {
	thorough.Long(t)
	hostileFreezes(t, newCloud(t))
}

func TestHostileAggregatesFreezeOnGoogle(t *testing.T) { hostileFreezes(t, onGoogle(t)) }

func hostileFreezes(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.tuning.SweepInterval, f.tuning.SweepAge = time.Second, 600*time.Millisecond // each reads all freezes
	f.withQueue(nil)
	r := f.run()
	paths := make(map[string]hostile)
	for i, h := range append(hostileTexts(), f.mistyped()...) {
		change := h.change
		h.change = func(fields map[string]any) {
			change(fields)
			fields["attempts"] = "three" // whatever else: a fault
		}
		record := f.record("accOutbox", "RoleChanged", fmt.Sprint("frozen-", i), 1)
		path, ok := f.appendHostile(record, h)
		if h.fault = "attempts"; ok {
			paths[path] = h
		}
	}
	f.through(paths)
	f.judgeHostile(paths)
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
}
