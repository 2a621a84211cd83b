package ier

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

// deliverOf sends one record of an aggregate.
func deliverOf(t *testing.T, r *Router, aggregate int) Outcome {
	t.Helper()
	job := newJob(1, "A")
	job.Record.AggregateID = fmt.Sprint(aggregate)
	return r.Deliver(t.Context(), []*Job{job}, nil)[0]
}

// Failures that count for one record are an outage when they are the rule across
// aggregates: three of them, in a row or as half of what was tried lately.
func TestFailuresAcrossAggregatesAreAnOutage(t *testing.T) {
	tests := []struct {
		name   string
		errs   []error
		fails  []int // the aggregate of each call
		pause  time.Duration
		isRule bool
	}{
		{name: "three aggregates, five in a row", errs: []error{errAttributable}, fails: []int{1, 2, 3, 1, 2}, isRule: true},
		{name: "three aggregates, five in a row, minutes apart", errs: []error{errAttributable}, fails: []int{1, 2, 3, 1, 2}, pause: time.Minute, isRule: true},
		{name: "mixed with outages", errs: []error{errAttributable, errOut}, fails: []int{1, 2, 3, 1, 2}, isRule: true},
		{name: "half of what was tried", errs: []error{errAttributable, nil}, fails: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, isRule: true},
		{name: "one aggregate", errs: []error{errAttributable}, fails: []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{name: "two aggregates", errs: []error{errAttributable}, fails: []int{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}},
		{name: "four in a row", errs: []error{errAttributable}, fails: []int{1, 2, 3, 4}},
		{name: "a third of what was tried", errs: []error{errAttributable, nil, nil}, fails: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{name: "half, minutes apart", errs: []error{errAttributable, nil}, fails: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, pause: time.Minute},
		{name: "records' own", errs: []error{errOwn}, fails: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{name: "permanent", errs: []error{errPermanent}, fails: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := &switched{}
				r := setup(t, Config{Targets: map[string]Target{"A": target}})
				for i, aggregate := range test.fails {
					target.err = test.errs[i%len(test.errs)]
					deliverOf(t, r, aggregate)
					time.Sleep(test.pause)
				}
				if got := r.Open("A"); got != test.isRule {
					t.Errorf("open is %v, want %v", got, test.isRule)
				}
			})
		})
	}
}

// A record that fails for itself does not end an outage, as little as it makes one.
func TestAProbeHasToSucceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := &switched{err: errOut}
		r := setup(t, Config{Targets: map[string]Target{"A": target}})
		deliver(t, r, 5)
		target.err = errAttributable
		time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
		if got := deliverOf(t, r, 1); len(got.Failed) != 1 || got.Failed[0].Kind != contracts.Attributable || !r.Open("A") {
			t.Errorf("got %+v, open %v; want a failure and the breaker open", got, r.Open("A"))
		}
		target.err = nil
		time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
		if got := deliverOf(t, r, 2); !cmp.Equal(got.Acked, []string{"A"}) || r.Open("A") {
			t.Errorf("got %+v, open %v; want it acknowledged and the breaker closed", got, r.Open("A"))
		}
	})
}

// What failed before the breaker opened belongs to the outage. It still does when
// there was another.
func TestAnOutageBeginsWithItsFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := &switched{}
		r := setup(t, Config{Targets: map[string]Target{"A": target}})
		var times []time.Time // where the target's being out begins and ends
		for range 3 {
			target.err = nil
			deliverOf(t, r, 0)
			time.Sleep(time.Minute) // beyond what tells of an outage
			times = append(times, time.Now())
			target.err = errAttributable
			for i := range 5 {
				deliverOf(t, r, i)
				time.Sleep(time.Second)
			}
			target.err = nil
			time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
			deliverOf(t, r, 6)
			times = append(times, time.Now())
		}
		for i, at := range times {
			begins := i%2 == 0
			for _, check := range []struct {
				at   time.Time
				want bool
			}{{at.Add(-1), !begins}, {at, true}, {at.Add(1), begins}} {
				if got := r.WasOut("A", check.at); got != check.want {
					t.Errorf("out at %v is %v, want %v; the outages are %v", check.at, got, check.want, times)
				}
			}
		}
		if r.WasOut("B", times[0]) {
			t.Error("a target that there is not was out")
		}
	})
}

// slow takes its time with its first sample, and so holds back what the breaker is told of that call.
type slow struct {
	took time.Duration
	late atomic.Bool
}

func (s *slow) Sample(LagSample) {
	if !s.late.Swap(true) {
		time.Sleep(s.took)
	}
}

// A call that failed before those that opened the breaker belongs to the outage also when the breaker hears of it last.
func TestAnOutageBeginsWithAFailureThatIsToldLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, Config{
			Targets: map[string]Target{"A": &switched{err: errAttributable}}, Sampler: &slow{took: 10 * time.Second},
		})
		began := time.Now()
		last := make(chan Outcome)
		go func() { last <- deliverOf(t, r, 0) }()
		synctest.Wait()
		time.Sleep(time.Second)
		for i := range 5 {
			deliverOf(t, r, i+1)
		}
		if !r.Open("A") {
			t.Fatal("the breaker is closed")
		}
		if got := (<-last).Failed; len(got) != 1 || !got[0].At.Equal(began) || !r.WasOut("A", got[0].At) {
			t.Errorf("it failed as %v, for which the target was not out", got)
		}
		if r.WasOut("A", began.Add(-1)) {
			t.Error("the target was out before its first failure")
		}
	})
}
