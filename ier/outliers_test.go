package ier

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// outlying is a target that answers others every few seconds, and some aggregates
// never: they try again every half second, as long as it is not out.
type outlying struct {
	*little
	others int
}

// goesOn lasts so many rounds, each of which ends with an answer to another.
func (o *outlying) goesOn(rounds int, bad ...string) {
	for range rounds {
		for range 8 {
			for _, b := range bad {
				o.sends(b, errOut)
			}
			time.Sleep(500 * time.Millisecond)
		}
		o.others++
		other := recordOf(fmt.Sprintf("other-%d", o.others))
		time.Sleep(time.Until(o.router.NextProbe("A", other)))
		o.sends(other.AggregateID, nil)
	}
}

// One or two aggregates that fail as in an outage, while the target answers others, have
// it out for a while only. It is still out when others fail, when more of them do, and
// for those that it has answered since.
func TestOutliersHaveATargetOutOnlyForAWhile(t *testing.T) {
	tests := []struct {
		name string
		then func(o *outlying)
		out  bool
	}{
		{"they fail on", func(o *outlying) { o.goesOn(20, "bad-1", "bad-2") }, false},
		{"others fail", func(o *outlying) {
			for i := range 5 {
				o.sends(fmt.Sprint("new-", i), errOut)
			}
		}, true},
		{"another fails for long", func(o *outlying) {
			for range 5 {
				o.sends("new", errOut)
			}
		}, true},
		{"it is answered, and fails again", func(o *outlying) {
			o.sends("bad-1", nil)
			for range 5 {
				o.sends("bad-1", errOut)
			}
		}, true},
		{"it fails again much later", func(o *outlying) {
			time.Sleep(outlierFor + time.Second)
			for range 5 {
				o.sends("bad-1", errOut)
			}
		}, true},
		{"as many fail as make a rule", func(o *outlying) { o.goesOn(20, "bad-1", "bad-2", "bad-3") }, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &outlying{little: sendsLittle(t, 0)}
				o.goesOn(outlierAfter+2, "bad-1", "bad-2")
				if o.opened == 0 {
					t.Fatal("the target was never out, which tells of nobody")
				}
				if o.router.Open("A") {
					t.Fatal("the target is out")
				}
				before := o.opened
				test.then(o)
				if out := o.opened > before; out != test.out {
					t.Errorf("the target was out again: %v, want %v", out, test.out)
				}
			})
		})
	}
}

// An outlier does not end an outage, and does not hide one from the others.
func TestOutliersEndNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outlying{little: sendsLittle(t, 0)}
		o.goesOn(outlierAfter+2, "bad")
		for i := range 5 {
			o.sends(fmt.Sprint("new-", i), errOut)
			o.sends("bad", errOut)
		}
		if !o.router.Open("A") {
			t.Fatal("the target is not out")
		}
		for range 100 {
			o.sends("bad", errOut)
			time.Sleep(500 * time.Millisecond)
		}
		if !o.router.Open("A") {
			t.Error("an outlier ended the outage")
		}
	})
}

// Failures without an answer in between tell of nobody, however many they are.
func TestAnOutageHasNoOutliers(t *testing.T) {
	var o outliers
	for i := range 100 {
		o.failed("a", time.Unix(int64(i), 0))
	}
	if o.are("a", time.Unix(100, 0)) {
		t.Error("it is an outlier")
	}
}

func TestOutliersAreBounded(t *testing.T) {
	var o outliers
	for i := range 3*mostTurns + 1 {
		o.failed(fmt.Sprint(i), time.Unix(0, 0))
		if n := len(o.failures); n > mostTurns {
			t.Fatalf("%d are remembered, want %d at most", n, mostTurns)
		}
	}
}
