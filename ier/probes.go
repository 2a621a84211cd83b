package ier

import "time"

// probes tells whether what fails at an open breaker fails for itself: where for a
// while nothing probes but the same one or two aggregates, and nobody else's record
// waits, the target is judged by them as it is while its breaker is closed. Culprits
// count for none, however many they are. All that are in memory for the target probe it
// in turn, see turns.
type probes struct {
	since      time.Time
	calls      int
	aggregates []string
}

// loneFor is for how many times BreakerConfig.OpenFor nobody else may have probed, and in how many probes: where they
// are slow, few of them fit into that time, and those that wait have not had their turns.
const loneFor = 10

// failed notes a probe that failed, and reports whether it is one too many of so few
// aggregates, who did so for so many times the time of loneFor.
func (p *probes) failed(s *suspect, culprit bool, times int, cfg BreakerConfig) bool {
	if s.outage || s.others {
		*p = probes{}
		return false
	}
	if !culprit {
		p.aggregates = once(p.aggregates, s.aggregate)
	}
	if len(p.aggregates) == spread {
		*p = probes{}
		return false
	}
	if p.calls++; p.calls == 1 {
		p.since = s.at
	}
	if len(p.aggregates) == 0 {
		times = 1 // culprits have been told already
	}
	return p.calls >= loneFor && s.at.Sub(p.since) >= time.Duration(times)*loneFor*cfg.OpenFor
}

// turns has those that wait at an open breaker probe in turn: one that fails whatever
// its target does would else probe again and again, as it is the first to ask each
// time, and hold up all others for ever. An aggregate whose probe failed yields the
// next to those whose has not, if one of them was turned away since the last.
type turns struct {
	had    map[string]struct{} // whose probe failed, of this round
	others bool                // one that is not in had was turned away since the last probe
}

// mostTurns bounds turns.had: beyond it a new round begins.
const mostTurns = 1000

func (t *turns) yields(aggregate string) bool {
	_, had := t.had[aggregate]
	return had && t.others
}

// turnedAway notes that an aggregate would have probed.
func (t *turns) turnedAway(aggregate string) {
	if _, had := t.had[aggregate]; !had {
		t.others = true
	}
}

// begins notes that a probe is granted.
func (t *turns) begins() { t.others = false }

// failed notes whose probe failed. Nobody else was waiting if it had its turn before:
// then a new round begins.
func (t *turns) failed(aggregate string) {
	if _, had := t.had[aggregate]; had || t.had == nil || len(t.had) >= mostTurns {
		t.had = make(map[string]struct{})
	}
	t.had[aggregate] = struct{}{}
}
