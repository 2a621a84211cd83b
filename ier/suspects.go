package ier

import (
	"slices"
	"time"
)

// suspects tells whether failures that count for one record are the rule across
// aggregates: then it is the target that fails, whatever it answers. It remembers
// the last calls of a closed breaker.
type suspects struct {
	calls [suspectCalls]call // a ring
	next  int
	row   []string // aggregates of the calls since the last that succeeded, each once, up to spread
	rowed int      // calls since then
	since time.Time
}

// call is what became of one call of a target.
type call struct {
	at        time.Time
	failed    bool
	aggregate string // of a failure
}

const (
	// spread is how many aggregates have to fail before it may be the target: one
	// that fails, or two, may be poison.
	spread = 3
	// suspectCalls is how many calls are remembered at most.
	suspectCalls = 64
)

// answered notes a call that the target answered.
func (s *suspects) answered(at time.Time) {
	s.add(call{at: at})
	s.row, s.rowed, s.since = s.row[:0], 0, time.Time{}
}

// ended notes that an outage ended without an answer: that others failed still says
// that the target may be out, though nothing of it is to be blamed on an outage now.
func (s *suspects) ended() { *s = suspects{row: s.row, rowed: s.rowed} }

// failed notes a call that failed, whatever it says of the target, and reports
// whether failing is the rule: for so many calls in a row, or for that share of
// enough calls within the window.
func (s *suspects) failed(at time.Time, aggregate string, cfg BreakerConfig) bool {
	s.add(call{at: at, failed: true, aggregate: aggregate})
	if s.rowed++; s.since.IsZero() || at.Before(s.since) {
		s.since = at
	}
	s.row = once(s.row, aggregate)
	if s.rowed >= cfg.Consecutive && len(s.row) >= spread {
		return true
	}
	var aggregates []string
	calls, failures, first := 0, 0, at
	for _, c := range s.calls {
		if c.at.IsZero() || at.Sub(c.at) > cfg.Window {
			continue
		}
		if calls++; c.failed {
			failures++
			aggregates = once(aggregates, c.aggregate)
			if c.at.Before(first) {
				first = c.at
			}
		}
	}
	if calls < cfg.MinCalls || float64(failures) < cfg.Ratio*float64(calls) || len(aggregates) < spread {
		return false
	}
	if first.Before(s.since) {
		s.since = first
	}
	return true
}

func (s *suspects) add(c call) {
	s.calls[s.next] = c
	s.next = (s.next + 1) % suspectCalls
}

// once adds an aggregate to a list that holds each once, and no more of them than
// it takes to tell.
func once(list []string, aggregate string) []string {
	if len(list) >= spread || slices.Contains(list, aggregate) {
		return list
	}
	return append(list, aggregate)
}
