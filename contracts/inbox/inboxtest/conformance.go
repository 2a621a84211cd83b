// Package inboxtest holds every inbox.Store to one behaviour.
package inboxtest

import (
	"testing"

	"outboxrelay/contracts/inbox"
)

// Fixture is a store to test, which may hold what other tests left.
type Fixture struct {
	Store inbox.Store
	// Tick is called before each look of a test that waits for time to pass; nil: time passes
	// by itself.
	Tick func()
}

// Conformance runs the suite. open is called once for each of its tests.
func Conformance(t *testing.T, open func(t *testing.T) Fixture) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *suite)
	}{
		{"a settled event is processed", settled},
		{"one of many claims an event", oneOfMany},
		{"many claim events at once", manyAtOnce},
		{"a claim can be repeated", repeated},
		{"a claim that is repeated has its whole lease", repeatedLate},
		{"a lease runs out", leaseRunsOut},
		{"a failure is counted and kept", failureCounted},
		{"a claim given back is no failure", givenBack},
		{"no more errors are kept than the latest", latestErrors},
		{"an event waits behind an older one", behind},
		{"an event waits behind none of another aggregate, whatever their names", alikeAggregates},
		{"a dead event holds nothing back", deadHoldsNothing},
		{"versions are compared as numbers", versions},
		{"a dead event can be replayed", replayed},
		{"a replay that has to wait changes nothing", replayBehind},
		{"a processed event is forgotten after its time", processedExpires},
		{"an open event is forgotten after its time", openExpires},
		{"the short form", checkAndMark},
		{"the short form, asked by many", checkAndMarkByMany},
		{"the short form refuses what would mark nothing, or the wrong event", checkAndMarkNothing},
		{"odd names", oddNames},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSuite(t, open(t))
			if s.f.Tick == nil {
				t.Parallel() // they mostly wait
			}
			test.run(t, s)
		})
	}
}
