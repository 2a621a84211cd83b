package ier

import "slices"

// doubts says how well an outage is proved, as few probe it. Where several aggregates
// failed and nobody was answered since, it may well be one, and each that is counted in
// it is a dead letter: the next have to probe for twice as long, until enough wait
// that they are not alone any more.
type doubts struct {
	closings int      // that lone probes came to since the target answered anybody
	excused  []string // those that probed then: they count now, and have nobody out
}

const (
	// ruledTimes is for how much longer those have to probe alone by whose kind of
	// failure the target was found to be out: it has not changed since.
	ruledTimes = 16
	// mostTimes bounds that: 43 minutes by the default of BreakerConfig.OpenFor.
	mostTimes = 128
	// mostExcused is how many aggregates are excused at most, the last that were.
	mostExcused = 16
)

// times is for how many times the time of loneFor few have to probe alone.
func (d *doubts) times(ruled bool) int {
	times := 1
	if ruled {
		times = ruledTimes
	}
	for range d.closings {
		times = min(2*times, mostTimes)
	}
	return times
}

// closed notes that probes ended an outage by failing.
func (d *doubts) closed(p probes) {
	d.closings++
	for _, aggregate := range p.aggregates {
		if !d.excuses(aggregate) {
			d.excused = append(d.excused[max(0, len(d.excused)+1-mostExcused):], aggregate)
		}
	}
}

// excuses reports whether an aggregate ended an outage by failing.
func (d *doubts) excuses(aggregate string) bool { return slices.Contains(d.excused, aggregate) }
