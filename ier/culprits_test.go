package ier

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// little is a target to which little is sent: aggregates that fail for themselves
// try again every half second, and every 20 s comes one that does not.
type little struct {
	t      *testing.T
	target *switched
	router *Router
	fresh  int
	opened int
	poison []string
}

func sendsLittle(t *testing.T, poison int) *little {
	l := &little{t: t, target: &switched{}}
	l.router = setup(t, Config{Targets: map[string]Target{"A": l.target}})
	l.router.Subscribe(func(_ string, open bool) {
		if open {
			l.opened++
		}
	})
	for i := range poison {
		l.poison = append(l.poison, fmt.Sprintf("poison-%d", i))
	}
	return l
}

// sends a record of an aggregate, to which the target says what it says.
func (l *little) sends(aggregate string, answer error) {
	l.target.err = answer
	job := newJob(1, "A")
	job.Record = recordOf(aggregate)
	l.router.Deliver(l.t.Context(), []*Job{job}, nil)
}

// goesOn lasts a round of 20 s, the last second of which is the other's: it asks until
// it was let through.
func (l *little) goesOn() {
	for range 38 {
		for _, p := range l.poison {
			l.sends(p, errAttributable)
		}
		time.Sleep(500 * time.Millisecond)
	}
	l.fresh++
	aggregate := fmt.Sprintf("fresh-%d", l.fresh)
	for waits := true; waits; {
		waits = l.router.Refuses("A", recordOf(aggregate))
		time.Sleep(time.Until(l.router.NextProbe("A", recordOf(aggregate))))
	}
	l.sends(aggregate, nil)
}

// Where little else is sent, aggregates that fail for themselves have the target out
// again and again, but not for ever.
func TestCulpritsHaveATargetOutOnlyForAWhile(t *testing.T) {
	for _, poison := range []int{3, 4, 12} {
		t.Run(fmt.Sprint(poison), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := sendsLittle(t, poison)
				for range 3 * culpritAfter {
					l.goesOn()
				}
				if l.opened < culpritAfter {
					t.Errorf("the target was out %d times, which tells of nobody; want at least %d", l.opened, culpritAfter)
				}
				before := l.opened
				for range 20 {
					l.goesOn()
				}
				if l.opened > before || l.router.Open("A") {
					t.Errorf("the target was out %d times more", l.opened-before)
				}
				l.sends("other", nil)
				for i := range 6 { // others still have it out
					l.sends(fmt.Sprintf("other-%d", i), errAttributable)
				}
				if !l.router.Open("A") {
					t.Error("the target is not out, though all others fail")
				}
			})
		})
	}
}

// Culprits alone end an outage: nobody else will.
func TestCulpritsAloneEndAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := sendsLittle(t, 4)
		for range 2 * culpritAfter {
			l.goesOn()
		}
		for i := range 6 {
			l.sends(fmt.Sprintf("other-%d", i), errAttributable)
		}
		if !l.router.Open("A") {
			t.Fatal("the target is not out")
		}
		for range 600 {
			for _, p := range l.poison {
				l.sends(p, errAttributable)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if l.router.Open("A") {
			t.Error("the target is out for ever")
		}
	})
}

// Nobody is a culprit where those that failed are answered, or something fails as in an
// outage: then it is the target that comes and goes.
func TestNobodyIsACulpritOfATargetThatComesAndGoes(t *testing.T) {
	tests := []struct {
		name    string
		disturb func(l *little)
	}{
		{"one that failed is answered", func(l *little) {
			l.sends("poor", errAttributable)
			for waits := true; waits; {
				waits = l.router.Refuses("A", recordOf("poor"))
				time.Sleep(time.Until(l.router.NextProbe("A", recordOf("poor"))))
			}
			l.sends("poor", nil)
		}},
		{"an outage", func(l *little) { l.sends("poor", errOut) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := sendsLittle(t, 3)
				for range 4 * culpritAfter {
					for range culpritAfter - 1 {
						l.goesOn()
					}
					before := l.opened
					test.disturb(l)
					l.goesOn()
					if l.opened == before {
						t.Fatalf("the target is not out any more, after %d times", l.opened)
					}
				}
			})
		})
	}
}

// Those that ended an outage as they probed alone may have been let down by the target.
func TestLoneProbesAreNoCulprits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := sendsLittle(t, 2)
		for i := range 2 * culpritAfter {
			for _, aggregate := range []string{l.poison[0], l.poison[1], fmt.Sprintf("other-%d", i), l.poison[0], l.poison[1]} {
				l.sends(aggregate, errAttributable)
			}
			if !l.router.Open("A") {
				t.Fatalf("the target is not out after %d times", i)
			}
			for began := time.Now(); l.router.Open("A") && time.Since(began) < 10*time.Minute; time.Sleep(100 * time.Millisecond) {
				for _, p := range l.poison {
					l.sends(p, errAttributable)
				}
			}
			if l.router.Open("A") {
				t.Fatal("the target stays out")
			}
			l.sends("sound", nil)
		}
	})
}

// It takes five outages, and who was not heard of in one is not to blame for it.
func TestCulpritsFailedInEachOutage(t *testing.T) {
	var c culprits
	for outages := range 3 * culpritAfter {
		c.failed(&suspect{aggregate: "always"})
		if is := c.are("always"); is != (outages >= 5) {
			t.Fatalf("after %d outages who failed in each is a culprit: %t", outages, is)
		}
		if c.are("once") {
			t.Fatal("who failed once is a culprit")
		}
		if len(c.failures) == 1 {
			c.failed(&suspect{aggregate: "once"})
		}
		c.outageEnded()
	}
}

// They are remembered of so many aggregates at most.
func TestCulpritsAreBounded(t *testing.T) {
	var c culprits
	for i := range 3 * mostTurns {
		c.failed(&suspect{aggregate: fmt.Sprint(i)})
	}
	if len(c.failures) != mostTurns {
		t.Errorf("%d are remembered, want %d", len(c.failures), mostTurns)
	}
	if c.failures["0"] == nil {
		t.Error("the first one is forgotten")
	}
}
