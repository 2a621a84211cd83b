package publisher

import (
	"fmt"
	"sync"
)

// streakMost is how many rounds in a row may fail before the publisher is not ready: one or two are a connection that
// was cut.
const streakMost = 3

// streak counts the rounds in a row that failed. A database that answers may refuse each of them all the
// same, as a standby does. An outage of the topic fails no round.
// Safe for concurrent use.
type streak struct {
	mu     sync.Mutex
	failed int
	last   report
}

// note takes down how a round ended; a good one ends the streak.
func (s *streak) note(r report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.err != nil:
		s.failed++
		r.unmarked = r.unmarked || s.last.unmarked
		s.last = r
	case !s.last.unmarked || r.tellsOfMarks():
		s.failed, s.last = 0, report{}
	}
}

// err tells of a streak that is too long, nil: there is none.
func (s *streak) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed < streakMost {
		return nil
	}
	return fmt.Errorf("the last %d rounds failed: %s", s.failed, bound(s.last.err.Error()))
}
