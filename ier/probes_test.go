package ier

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
)

// Where nothing but one or two aggregates is left to probe, and they fail for
// themselves, they end the outage: nothing else would, and they count from then on.
func TestLoneProbesEndAnOutage(t *testing.T) {
	tests := []struct {
		name     string
		errs     []error
		first    []int // the aggregates of the first probes
		then     []int // and of all others, in turn; 0: of a record before others that nobody has in memory
		rule     bool  // it was out as all failed for themselves, not as they said so
		outFirst int   // so many of the first probes fail as in an outage
		late     bool  // each probe is as late as ten would take
		closes   int   // the probe that closes the breaker, from 1; 0: none
	}{
		{name: "one aggregate", errs: []error{errAttributable}, then: []int{1}, closes: 11},
		{name: "one aggregate of those it was found by", rule: true, errs: []error{errAttributable}, then: []int{1}, closes: 161},
		{name: "two aggregates of those it was found by, slowly", rule: true, errs: []error{errAttributable}, then: []int{1, 2}, late: true, closes: 16},
		{name: "it was found by that, and says outage later", rule: true, errs: []error{errAttributable}, outFirst: 1, then: []int{1}, closes: 12},
		{name: "two aggregates", errs: []error{errAttributable}, then: []int{1, 2}, closes: 11},
		{name: "two aggregates, slowly", errs: []error{errAttributable}, then: []int{1, 2}, late: true, closes: 10},
		{name: "one of two goes", errs: []error{errAttributable}, first: []int{1}, then: []int{2}, closes: 11},
		{name: "three aggregates", errs: []error{errAttributable}, then: []int{1, 2, 3}},
		{name: "two of three go", errs: []error{errAttributable}, first: []int{1, 2}, then: []int{3}, closes: 14},
		{name: "a third comes late", errs: []error{errAttributable}, first: []int{1, 2, 1, 2, 1, 2, 1, 2, 1, 3}, then: []int{1}, closes: 21},
		{name: "others wait", errs: []error{errAttributable}, then: []int{0}},
		{name: "others wait now and then", errs: []error{errAttributable}, then: []int{1, 1, 1, 1, 1, 0}},
		{name: "others wait at first", errs: []error{errAttributable}, first: []int{0, 0, 0}, then: []int{1}, closes: 14},
		{name: "an outage between", errs: []error{errAttributable, errAttributable, errOut}, then: []int{1}},
		{name: "an outage", errs: []error{errOut}, then: []int{1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := &switched{err: errOut}
				if test.rule {
					target.err = errAttributable
				}
				r := setup(t, Config{Targets: map[string]Target{"A": target}})
				for i := range 5 {
					deliverOf(t, r, i)
				}
				const most = 200 // probes
				for i := range most {
					aggregate := test.then[i%len(test.then)]
					if i < len(test.first) {
						aggregate = test.first[i]
					}
					time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
					if test.late {
						time.Sleep(loneFor * BreakerConfig{}.withDefaults().OpenFor)
					}
					target.err = test.errs[i%len(test.errs)]
					if i < test.outFirst {
						target.err = errOut
					}
					job := newJob(1, "A")
					if job.Record.AggregateID = fmt.Sprint(aggregate); aggregate == 0 {
						job.Others = []string{"A"}
					}
					if r.Deliver(t.Context(), []*Job{job}, nil); !r.Open("A") {
						if i+1 != test.closes {
							t.Fatalf("probe %d closed the breaker, want it to be probe %d", i+1, test.closes)
						}
						break
					}
				}
				if closed := !r.Open("A"); closed != (test.closes > 0) {
					t.Fatalf("closed is %v after %d probes", closed, most)
				}
				if test.closes == 0 {
					return
				}
				for range 20 { // which are no outage, as before one
					if deliverOf(t, r, test.then[0]); r.Open("A") {
						t.Fatal("the breaker opened again for one aggregate")
					}
				}
			})
		})
	}
}

// probing is a target that is out, and what probes it.
type probing struct {
	t      *testing.T
	target *switched
	router *Router
}

// out has a target be out.
func out(t *testing.T) *probing {
	p := &probing{t: t, target: &switched{err: errOut}}
	p.router = setup(t, Config{Targets: map[string]Target{"A": p.target}})
	deliver(t, p.router, 5)
	return p
}

func recordOf(aggregate string) *contracts.Record {
	return &contracts.Record{EventID: "e-" + aggregate, AggregateID: aggregate}
}

// asks sends a record of an aggregate, which fails for itself, and reports whether it
// was let through.
func (p *probing) asks(aggregate string) bool {
	p.target.err = errAttributable
	job := newJob(1, "A")
	job.Record = recordOf(aggregate)
	return len(p.router.Deliver(p.t.Context(), []*Job{job}, nil)[0].Failed) > 0
}

// endsIt has an aggregate end the outage: it probes alone, and fails, for long enough.
func (p *probing) endsIt(aggregate string) {
	for p.router.Open("A") {
		p.waits(aggregate)
		p.asks(aggregate)
	}
}

// sound sends what is taken.
func (p *probing) sound() {
	p.target.err = nil
	deliver(p.t, p.router, 1)
}

// waits lasts until one of an aggregate may probe.
func (p *probing) waits(aggregate string) {
	time.Sleep(time.Until(p.router.NextProbe("A", recordOf(aggregate))))
}

// Who probed in vain leaves the next probe to those who wait and have not: each that
// waits comes to probe, whoever asks first.
func TestProbesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := out(t)
		var probed []string
		for range 7 {
			p.waits("z") // which never asks
			for _, aggregate := range []string{"a", "b", "c"} {
				if p.asks(aggregate) {
					probed = append(probed, aggregate)
				}
			}
		}
		if want := []string{"a", "b", "c", "a", "b", "c", "a"}; !slices.Equal(probed, want) {
			t.Errorf("got probes of %v, want %v", probed, want)
		}
	})
}

// The turn of one that does not come is over soon.
func TestATurnThatNobodyTakesIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := out(t)
		p.waits("a")
		p.asks("a")
		if alone := p.router.NextProbe("A", recordOf("a")); !alone.Equal(p.router.NextProbe("A", recordOf("b"))) {
			t.Error("one that waits alone leaves a turn to nobody")
		}
		if !p.router.Refuses("A", recordOf("b")) {
			t.Error("the breaker refuses nothing before its probe")
		}
		own, others := p.router.NextProbe("A", recordOf("a")), p.router.NextProbe("A", recordOf("b"))
		if !own.After(others) {
			t.Errorf("it may probe at %v, the one that waits at %v", own, others)
		}
		p.waits("b")
		if p.asks("a") || p.router.Refuses("A", recordOf("b")) {
			t.Error("it has taken the turn of the one that waits")
		}
		p.waits("a")
		if !p.asks("a") {
			t.Error("the turn that nobody takes lasts")
		}
	})
}

// Turns are remembered of so many aggregates at most.
func TestTurnsAreBounded(t *testing.T) {
	var s turns
	for i := range 3 * mostTurns {
		s.failed(fmt.Sprint(i))
		if len(s.had) > mostTurns {
			t.Fatalf("%d are remembered", len(s.had))
		}
	}
}
