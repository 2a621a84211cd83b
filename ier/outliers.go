package ier

import "time"

// outliers tells which aggregates fail as in an outage though their target is not out:
// whose message takes longer than its deadline each time, whose ordering key is over its
// quota. Where little else is sent, the retries of one are failures in a row, and would
// have the target out for everybody again and again, without an attempt that counts.
//
// An aggregate is an outlier once it has failed so many times, each with an answer to
// another since the time before, until it is answered itself. Where as many of them are as
// make a rule, see spread, it is the target that answers some and not others, and none is.
type outliers struct {
	answers  int                // of the target, to anybody
	failures map[string]*misses // by aggregate, those that were not answered since; at most mostTurns
}

// misses are the failures of one aggregate.
type misses struct {
	at      time.Time // of the last
	answers int       // that the target had given then
	between int       // how often it had answered since the one before
}

const (
	// outlierAfter is how many failures after an answer to another tell. A target that
	// comes and goes at random fails one of its aggregates so often as well, but not for long.
	outlierAfter = 5
	// outlierFor is how long a failure tells of the next: a few times as long as a record
	// that fails waits for its retry.
	outlierFor = time.Minute
)

// failed notes a call that failed as in an outage.
func (o *outliers) failed(aggregate string, at time.Time) {
	m := o.failures[aggregate]
	switch {
	case m == nil && len(o.failures) < mostTurns && o.failures != nil:
		m = &misses{}
		o.failures[aggregate] = m
	case m == nil:
		m = &misses{}
		o.failures = map[string]*misses{aggregate: m} // another round begins
	case at.Sub(m.at) > outlierFor:
		m.between = 0
	case o.answers > m.answers:
		m.between++
	}
	m.at, m.answers = at, o.answers
}

// answered notes that the target answered a call of an aggregate.
func (o *outliers) answered(aggregate string) {
	o.answers++
	delete(o.failures, aggregate)
}

// are reports whether an aggregate that failed is one of them.
func (o *outliers) are(aggregate string, now time.Time) bool {
	if !o.failures[aggregate].tells(now) {
		return false
	}
	n := 0
	for _, m := range o.failures {
		if m.tells(now) {
			n++
		}
	}
	return n < spread
}

func (m *misses) tells(now time.Time) bool {
	return m != nil && m.between >= outlierAfter && now.Sub(m.at) <= outlierFor
}
