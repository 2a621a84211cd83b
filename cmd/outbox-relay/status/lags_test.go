package status

import (
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// samples counts what it is handed.
type samples int

func (s *samples) Sample(ier.LagSample) { *s++ }

func TestLagWindowTellsOfTheLastMinute(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	var handedOn samples
	w := NewLags(&handedOn, func() time.Time { return now })
	acked := func(lag int64) {
		w.Sample(ier.LagSample{Lane: contracts.CriticalLane, Outcome: ier.OutcomeAcked, LagMs: lag})
	}
	want := func(what string, p50, p99 time.Duration) {
		t.Helper()
		if got50, got99 := w.quantiles(contracts.CriticalLane); got50 != p50 || got99 != p99 {
			t.Errorf("%s: got %v and %v, want %v and %v", what, got50, got99, p50, p99)
		}
	}
	want("nothing delivered", 0, 0)
	for range 90 {
		acked(0)
	}
	now = now.Add(30 * time.Second)
	for range 10 {
		acked(100)
	}
	want("both", time.Millisecond, 100*time.Millisecond)
	w.Sample(ier.LagSample{Lane: contracts.CriticalLane, Outcome: contracts.Outage.String(), LagMs: 1000})
	w.Sample(ier.LagSample{Lane: contracts.CriticalLane, Outcome: ier.OutcomeAcked, LagMs: 1000, Replay: true})
	w.Sample(ier.LagSample{Lane: "NO_LANE", Outcome: ier.OutcomeAcked, LagMs: 1000})
	want("what failed, was replayed, or has no lane", time.Millisecond, 100*time.Millisecond)
	if p50, _ := w.quantiles(contracts.StandardLane); p50 != 0 {
		t.Errorf("another lane's median is %v, want none", p50)
	}
	now = now.Add(45 * time.Second)
	want("the older have gone", 100*time.Millisecond, 100*time.Millisecond)
	now = now.Add(24 * time.Hour)
	want("all have gone", 0, 0)
	acked(1 << 60)
	if _, p99 := w.quantiles(contracts.CriticalLane); p99 < longestLag-longestLag/100 || p99 > longestLag {
		t.Errorf("beyond the longest: got %v", p99)
	}
	if handedOn != 104 {
		t.Errorf("%d samples were handed on, want 104", handedOn)
	}
}

func TestLagWithinItsSLAIsNotToldAsBeyond(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	var handedOn samples
	for _, sla := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 30 * time.Second, time.Hour} {
		w := NewLags(&handedOn, func() time.Time { return now })
		for _, lag := range []time.Duration{sla - sla/1000, sla} {
			w.Sample(ier.LagSample{Lane: contracts.BackgroundLane, Outcome: ier.OutcomeAcked, LagMs: lag.Milliseconds()})
			_, p99 := w.quantiles(contracts.BackgroundLane)
			if p99 > sla || p99 < lag-lag/100 {
				t.Errorf("a lag of %v is told as %v", lag, p99)
			}
		}
	}
}
