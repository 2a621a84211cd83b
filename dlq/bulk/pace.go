package bulk

import (
	"fmt"
	"math"
	"time"
)

// rampStep is after how long the rate of a bulk replay doubles.
const rampStep = 5 * time.Second

// rateAfter is how many items a second a bulk replay asks for, so long after its
// canary: a tenth of its full rate at first, at least one, then twice as many
// after each step.
func rateAfter(full float64, ramping, step time.Duration) float64 {
	first := min(full, max(1, full/10))
	return min(full, first*math.Pow(2, float64(ramping/step)))
}

// allowance saves up requests at a rate that may change.
type allowance struct {
	saved float64
	at    time.Time
}

// save returns how many requests may be made now. What nobody used is kept for
// a second at most.
func (a *allowance) save(now time.Time, perSecond float64) int {
	if a.at.IsZero() {
		a.saved = 1 // the first goes at once
	} else {
		a.saved += perSecond * now.Sub(a.at).Seconds()
	}
	a.saved = min(a.saved, max(1, perSecond))
	a.at = now
	return int(a.saved)
}

func (a *allowance) use(n int) { a.saved -= float64(n) }

// When a bulk replay stops by itself.
const (
	endingsKept   = 50 // the latest replays that it judges by
	endingsLeast  = 5  // before which it does not judge
	maxFailed     = 20 // percent of them
	canaryMayFail = 1  // of the canary
)

// endings holds how the latest replays of a bulk replay ended.
type endings struct{ failed []bool }

func (e *endings) add(failed bool) {
	e.failed = append(e.failed, failed)
	if len(e.failed) > endingsKept {
		e.failed = e.failed[1:]
	}
}

// tooMany says in words that too many of the latest failed; "" when not.
func (e *endings) tooMany() string {
	failed := 0
	for _, f := range e.failed {
		if f {
			failed++
		}
	}
	if len(e.failed) < endingsLeast || failed*100 <= len(e.failed)*maxFailed {
		return ""
	}
	return fmt.Sprintf("%d of the last %d replays failed, more than %d %%", failed, len(e.failed), maxFailed)
}
