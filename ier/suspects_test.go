package ier

import (
	"fmt"
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
	return r.Deliver(t.Context(), []*Job{job})[0]
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
		time.Sleep(time.Until(r.NextProbe("A")))
		if got := deliverOf(t, r, 1); len(got.Failed) != 1 || got.Failed[0].Kind != contracts.Attributable || !r.Open("A") {
			t.Errorf("got %+v, open %v; want a failure and the breaker open", got, r.Open("A"))
		}
		target.err = nil
		time.Sleep(time.Until(r.NextProbe("A")))
		if got := deliverOf(t, r, 2); !cmp.Equal(got.Acked, []string{"A"}) || r.Open("A") {
			t.Errorf("got %+v, open %v; want it acknowledged and the breaker closed", got, r.Open("A"))
		}
	})
}

// Where the same one or two aggregates alone are left to probe, and fail for
// themselves, they end the outage: nothing else would, and they count from then on.
func TestLoneProbesEndAnOutage(t *testing.T) {
	tests := []struct {
		name   string
		errs   []error
		probes []int // the aggregate of each
		closes int   // the probe that closes the breaker, from 1; 0: none
	}{
		{name: "one aggregate", errs: []error{errAttributable}, probes: []int{1, 1, 1}, closes: 3},
		{name: "two aggregates", errs: []error{errAttributable}, probes: []int{1, 2, 1, 2, 1}, closes: 5},
		{name: "one of two goes", errs: []error{errAttributable}, probes: []int{1, 2, 2, 2, 2}, closes: 5},
		{name: "three aggregates", errs: []error{errAttributable}, probes: []int{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}},
		{name: "two of three go", errs: []error{errAttributable}, probes: []int{1, 2, 3, 3, 3, 3}, closes: 6},
		{name: "an outage between", errs: []error{errAttributable, errAttributable, errOut}, probes: []int{1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{name: "an outage", errs: []error{errOut}, probes: []int{1, 1, 1, 1, 1, 1, 1, 1, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := &switched{err: errAttributable}
				r := setup(t, Config{Targets: map[string]Target{"A": target}})
				for i := range 5 {
					deliverOf(t, r, i)
				}
				for i, aggregate := range test.probes {
					time.Sleep(time.Until(r.NextProbe("A")))
					target.err = test.errs[i%len(test.errs)]
					deliverOf(t, r, aggregate)
					if got, want := r.Open("A"), i+1 != test.closes; got != want {
						t.Fatalf("after probe %d open is %v, want %v", i+1, got, want)
					}
				}
				if test.closes == 0 {
					return
				}
				last := test.probes[len(test.probes)-1]
				for range 20 { // which are no outage, as before one
					if deliverOf(t, r, last); r.Open("A") {
						t.Fatal("the breaker opened again for one aggregate")
					}
				}
				time.Sleep(time.Minute) // beyond what is remembered
				target.err = nil
				deliverOf(t, r, last)
				began := time.Now()
				target.err = errAttributable
				for i := range 5 {
					deliverOf(t, r, i)
				}
				if from, to := r.Outage("A"); !r.Open("A") || !from.Equal(began) || !to.IsZero() {
					t.Errorf("open is %v, out from %v to %v; want a new outage from %v", r.Open("A"), from, to, began)
				}
			})
		})
	}
}

// What failed before the breaker opened belongs to the outage.
func TestAnOutageBeginsWithItsFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := &switched{}
		r := setup(t, Config{Targets: map[string]Target{"A": target}})
		deliverOf(t, r, 0)
		time.Sleep(time.Second)
		began := time.Now()
		target.err = errAttributable
		for i := range 5 {
			deliverOf(t, r, i)
			time.Sleep(time.Second)
		}
		if from, to := r.Outage("A"); !from.Equal(began) || !to.IsZero() {
			t.Errorf("it is out from %v to %v, want from %v, and no end", from, to, began)
		}
		target.err = nil
		time.Sleep(time.Until(r.NextProbe("A")))
		deliverOf(t, r, 6)
		if from, to := r.Outage("A"); !from.Equal(began) || !to.Equal(time.Now()) {
			t.Errorf("it was out from %v to %v, want from %v to %v", from, to, began, time.Now())
		}
	})
}
