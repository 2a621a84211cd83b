package bulk

import (
	"math"
	"time"

	"outboxrelay/dlq"
)

// Plan is how a bulk replay goes on while nothing fails, and when it stops.
type Plan struct {
	Canary        int     // so many go first
	CanaryMayFail int     // of these; with more it stops
	First, Full   float64 // items a second after the canary, and at most
	Step          time.Duration
	MaxFailed     int           // percent of the latest that may fail
	Latest        int           // how many these are
	Takes         time.Duration // at the least
}

// PlanOf tells how a bulk replay of so many items would go on.
func PlanOf(total int, perSecond float64) Plan {
	p := Plan{
		Canary: min(canarySize, total), CanaryMayFail: canaryMayFail, Full: perSecond, First: rateAfter(perSecond, 0, rampStep), Step: rampStep,
		MaxFailed: maxFailed, Latest: endingsKept,
	}
	left := float64(total - p.Canary)
	for left > 0 && perSecond > 0 {
		rate := rateAfter(perSecond, p.Takes, rampStep)
		if rate == perSecond || left <= rate*rampStep.Seconds() {
			p.Takes += time.Duration(math.Ceil(left/rate)) * time.Second
			break
		}
		left -= rate * rampStep.Seconds()
		p.Takes += rampStep
	}
	return p
}

// Canary returns the IDs of those items of a selection that go first.
func Canary(s *dlq.Selection) map[string]bool {
	pins := make([]dlq.Pin, len(s.Items))
	for n, i := range s.Items {
		pins[n] = dlq.PinOf(i)
	}
	out := make(map[string]bool)
	for n := range canaries(pins) {
		out[pins[n].ID] = true
	}
	return out
}
