package ier

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// buried sends an event of another aggregate every so often to a target that fails each
// for itself, as relay would, for that long. It returns how many are dead after three
// attempts that count.
func buried(t *testing.T, aggregates int, every, during time.Duration) int {
	r := setup(t, Config{Targets: map[string]Target{"A": &switched{err: errAttributable}}})
	var waiting []string
	attempts := make(map[string]int)
	dead, came, next := 0, 0, time.Now()
	for end := time.Now().Add(during); time.Now().Before(end); {
		if came < aggregates && !time.Now().Before(next) {
			waiting, came, next = append(waiting, fmt.Sprint(came)), came+1, next.Add(every)
		}
		left := waiting[:0]
		for _, aggregate := range waiting {
			job := newJob(1, "A")
			job.Record = recordOf(aggregate)
			if !r.Refuses("A", job.Record) && len(r.Deliver(t.Context(), []*Job{job}, nil)[0].Failed) > 0 && !r.Open("A") {
				attempts[aggregate]++
			}
			if attempts[aggregate] == 3 {
				dead++
			} else {
				left = append(left, aggregate)
			}
		}
		waiting = left
		soon := next
		for _, aggregate := range waiting {
			if at := r.NextProbe("A", recordOf(aggregate)); at.Before(soon) {
				soon = at
			}
		}
		time.Sleep(max(time.Until(soon), 100*time.Millisecond)) // attempts have a backoff
	}
	return dead
}

// A target that fails for hours, whatever little it is sent, is found to be out, though
// there is never more than one to tell: it does not get a dead letter of each.
func TestFewAreDeadWhereLittleIsSentToATargetThatIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const aggregates = 96
		if dead := buried(t, aggregates, 5*time.Minute, 8*time.Hour); dead > 4 {
			t.Errorf("%d of %d are dead", dead, aggregates)
		}
	})
}

// But some that fail for themselves are all dead in the end, though nobody else is sent.
func TestAllAreDeadThatFailForThemselvesWhereNothingElseIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const aggregates = 6
		if dead := buried(t, aggregates, time.Hour, 24*time.Hour); dead != aggregates {
			t.Errorf("%d of %d are dead", dead, aggregates)
		}
	})
}

// Who ended an outage by failing has nobody out, until somebody is answered; others do
// at once.
func TestWhoProbedAloneHasNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := out(t)
		p.endsIt("alone")
		for range 20 {
			if p.asks("alone"); p.router.Open("A") {
				t.Fatal("the target is out for one that ended the outage by failing")
			}
		}
		for i := range 2 {
			p.asks(fmt.Sprintf("other-%d", i))
		}
		if !p.router.Open("A") {
			t.Fatal("the target is not out, though nobody was answered since it was, and others fail")
		}
	})
}

// An answer ends all doubts: who probed alone is one of three like any other.
func TestAnAnswerEndsDoubts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := out(t)
		for range 3 {
			p.endsIt("alone")
			p.sound()
			for _, aggregate := range []string{"alone", "b", "alone", "c", "alone"} {
				p.asks(aggregate)
			}
			if !p.router.Open("A") {
				t.Fatal("the target is not out, though five calls of three failed")
			}
		}
	})
}

// They are of so many aggregates, and so long, at most.
func TestDoubtsAreBounded(t *testing.T) {
	var d doubts
	for i := range 3 * mostExcused {
		d.closed(probes{aggregates: []string{fmt.Sprint(i)}})
		if len(d.excused) > mostExcused || !d.excuses(fmt.Sprint(i)) || d.times(true) > mostTimes {
			t.Fatalf("%d are excused, times %d", len(d.excused), d.times(true))
		}
	}
}

// What counted since an outage was ended by failing stands, though another follows.
func TestWhatCountsAfterLoneProbesIsNotForgiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := out(t)
		p.endsIt("alone")
		time.Sleep(time.Second)
		p.asks("alone")
		counted := time.Now()
		time.Sleep(time.Second)
		for i := range 2 {
			p.asks(fmt.Sprintf("other-%d", i))
		}
		if !p.router.Open("A") {
			t.Fatal("the target is not out")
		}
		if p.router.WasOut("A", counted) {
			t.Error("what counted while the breaker was closed is of the next outage")
		}
	})
}
