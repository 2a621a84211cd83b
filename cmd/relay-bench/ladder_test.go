package main

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

func TestSlope(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"nothing":     {nil, 0},
		"one":         {[]float64{9}, 0},
		"level":       {[]float64{4, 4, 4, 4}, 0},
		"rising":      {[]float64{1, 3, 5, 7}, 2},
		"falling":     {[]float64{3, 2, 1}, -1},
		"noise alone": {[]float64{5, 9, 9, 5}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := slope(c.values); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("slope = %v, want %v", got, c.want)
			}
		})
	}
}

func TestBacklogs(t *testing.T) {
	began := time.Unix(1000, 0)
	at := func(ms, lag int) delivery {
		return delivery{contracts.CriticalLane, began.Add(time.Duration(ms) * time.Millisecond), time.Duration(lag) * time.Millisecond}
	}
	deliveries := []delivery{at(50, 100), at(20, 300), at(210, 10), at(250, 500)}
	got := backlogs(deliveries, began, 100*time.Millisecond, 5)
	if diff := cmp.Diff([]float64{0, 2, 1, 2, 1}, got); diff != "" {
		t.Error(diff)
	}
}

// paced are the deliveries of ten seconds of appends at 100/s in each lane, with
// each lane's lag after so long a time.
func paced(began time.Time, lag func(contracts.Lane, time.Duration) time.Duration) []delivery {
	var out []delivery
	for i := range 1000 {
		since := time.Duration(i) * 10 * time.Millisecond
		for _, lane := range contracts.Lanes() {
			out = append(out, delivery{lane, began.Add(since), lag(lane, since)})
		}
	}
	return out
}

func TestStepIsHeld(t *testing.T) {
	const sla = 500 * time.Millisecond
	const rate = 300
	level := func(contracts.Lane, time.Duration) time.Duration { return 30 * time.Millisecond }
	for name, c := range map[string]struct {
		took time.Duration
		lag  func(contracts.Lane, time.Duration) time.Duration
		want string // the fault
	}{
		"held":                    {10 * time.Second, level, ""},
		"producers just reach it": {10300 * time.Millisecond, level, ""},
		"producers fall short":    {11 * time.Second, level, "producers reached 273/s"},
		"a lane falls behind": {10 * time.Second, func(l contracts.Lane, since time.Duration) time.Duration {
			if l == contracts.BackgroundLane {
				return since / 9 // a tenth of what comes stays behind
			}
			return 30 * time.Millisecond
		}, "backlog of BACKGROUND_LANE grew by 10.0/s"},
		"late, and steadily": {10 * time.Second, func(l contracts.Lane, _ time.Duration) time.Duration {
			if l == contracts.CriticalLane {
				return 600 * time.Millisecond
			}
			return 30 * time.Millisecond
		}, "p99 lag of CRITICAL_LANE was 600 ms"},
		"other lanes may be late": {10 * time.Second, func(l contracts.Lane, _ time.Duration) time.Duration {
			if l == contracts.CriticalLane {
				return 30 * time.Millisecond
			}
			return 900 * time.Millisecond
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Unix(1000, 0)
			got := newSoakStep(rate, began, c.took, paced(began, c.lag)).fault(sla)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHarvestTakesCompleteRecordsOnce(t *testing.T) {
	began := time.Unix(1000, 0)
	b := newBook()
	b.appended("done", appended{began, contracts.CriticalLane, 2})
	b.arrived("done", "t1", began.Add(9*time.Millisecond))
	b.arrived("done", "t2", began.Add(4*time.Millisecond))
	b.appended("half", appended{began, contracts.StandardLane, 2})
	b.arrived("half", "t1", began.Add(time.Millisecond))

	first := b.harvest()
	b.arrived("half", "t2", began.Add(2*time.Millisecond))
	got := [][]delivery{first, b.harvest(), b.harvest()}
	want := [][]delivery{
		{{contracts.CriticalLane, began, 9 * time.Millisecond}},
		{{contracts.StandardLane, began, 2 * time.Millisecond}},
		nil,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(delivery{})); diff != "" {
		t.Error(diff)
	}
	if n := b.outstanding(); n != 0 {
		t.Errorf("%d records are outstanding after all were harvested", n)
	}
}
