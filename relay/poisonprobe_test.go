package relay_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// A record that its target never takes may be the one that probes when the target
// was out: it holds up nobody else's for longer than that. It is dead in the end,
// unless it fails as in an outage while little else is delivered.
func TestPoisonThatProbesHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		poison error
	}{
		{"it fails for itself", failure(contracts.Attributable, "Internal")},
		{"it fails as in an outage", failure(contracts.Outage, "DeadlineExceeded")},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.retries(3, 10*time.Millisecond)
			f.withQueue(nil)
			poison := f.record("wsOutbox", "TaskCompleted", "poison", 1)
			others := []*contracts.Record{f.record("wsOutbox", "TaskCompleted", "poison", 2)}
			for a := range 20 {
				others = append(others, f.record("wsOutbox", "TaskCompleted", fmt.Sprintf("a-%d", a), 1))
			}
			var out atomic.Bool
			out.Store(true)
			f.script(func(_ context.Context, target string, rec *contracts.Record) error {
				switch {
				case target != "FUNNEL":
					return nil
				case out.Load():
					return failure(contracts.Outage, "Unavailable")
				case rec.EventID == poison.EventID:
					return test.poison
				}
				return nil
			})
			r := f.run()
			f.append([]*contracts.Record{poison}, 1)
			f.eventually("the target is out, and the poison probes", func() bool { return f.breakerOpen(r, "FUNNEL") })
			f.append(others, len(others))
			f.eventually("the others wait", func() bool { return r.outbox("wsOutbox").LeftBehind == len(others) })
			out.Store(false)
			f.eventually("all others arrive that are not behind it", func() bool { return f.unmarked(others[1:], contracts.Delivered) == 0 })
			if contracts.KindOf(test.poison) == contracts.Attributable {
				f.eventually("it is dead", func() bool { return len(f.deadLetters()) == 1 })
				f.eventually("what was behind it arrives", func() bool { return f.unmarked(others[:1], contracts.Delivered) == 0 })
			}
		})
	}
}

// Nobody else's record needs to come for a record that its target never takes to be
// dead after an outage.
func TestPoisonThatProbesAloneIsDeadInTheEnd(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	f.retries(3, 10*time.Millisecond)
	f.withQueue(nil)
	poison := f.series("wsOutbox", "TaskCompleted", "poison", 1, 2)
	var out atomic.Bool
	out.Store(true)
	f.script(func(_ context.Context, target string, rec *contracts.Record) error {
		switch {
		case target != "FUNNEL":
			return nil
		case out.Load():
			return failure(contracts.Outage, "Unavailable")
		case rec.EventID == poison[0].EventID:
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
	r := f.run()
	f.append(poison, 2)
	f.eventually("the target is out", func() bool { return f.breakerOpen(r, "FUNNEL") })
	out.Store(false)
	f.eventually("the poison is dead", func() bool { return len(f.deadLetters()) == 1 })
	f.eventually("what was behind it arrives", func() bool { return f.unmarked(poison[1:], contracts.Delivered) == 0 })
}

// Records of many aggregates that a target never takes have it out, as they fail in a
// row. Where little else is sent they would for ever: they are dead as the target
// answers others.
func TestManyPoisonsAreDeadInTheEnd(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	f.retries(3, 10*time.Millisecond)
	f.withQueue(nil)
	poisoned := map[string]bool{}
	var first, second []*contracts.Record
	for a := range 4 {
		series := f.series("wsOutbox", "TaskCompleted", fmt.Sprintf("poison-%d", a), 1, 2)
		first, second = append(first, series[0]), append(second, series[1])
		poisoned[series[0].EventID] = true
	}
	f.script(func(_ context.Context, target string, rec *contracts.Record) error {
		if target == "FUNNEL" && poisoned[rec.EventID] {
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
	r := f.run()
	f.append(append(first, second...), 8)
	f.eventually("the target is out", func() bool { return f.breakerOpen(r, "FUNNEL") })
	for n := 0; len(f.deadLetters()) < len(first); n++ {
		if n == 200 {
			t.Fatalf("%d of them are dead after %d others were delivered", len(f.deadLetters()), n)
		}
		other := []*contracts.Record{f.record("wsOutbox", "TaskCompleted", fmt.Sprintf("other-%d", n), 1)}
		f.append(other, 1)
		f.eventually("another is delivered", func() bool { return f.unmarked(other, contracts.Delivered) == 0 })
	}
	f.eventually("what was behind them arrives", func() bool { return f.unmarked(second, contracts.Delivered) == 0 })
}

// In a long outage few records probe in turn: what waits leaves the memory to others.
func TestALongOutageLeavesTheMemoryToOthers(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	f.tuning.OutageTolerance = 1
	var calls atomic.Int64
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target != "FUNNEL" {
			return nil
		}
		calls.Add(1)
		return failure(contracts.Outage, "Unavailable")
	})
	r := f.run()
	var records []*contracts.Record
	for a := range 60 {
		records = append(records, f.record("wsOutbox", "TaskCompleted", fmt.Sprintf("a-%d", a), 1))
	}
	f.append(records, 1)
	f.eventually("the target is out", func() bool { return f.breakerOpen(r, "FUNNEL") })
	before := calls.Load()
	f.eventually("it is probed again and again", func() bool { return calls.Load() >= before+20 })
	// A page holds whole instants, and more than one commit may share theirs.
	f.eventually("few are in memory", func() bool { return r.outbox("wsOutbox").InMemory < len(records)/2 })
}
