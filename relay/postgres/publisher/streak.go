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
	last   error
}

// note takes down how a round ended; nil ends the streak.
func (s *streak) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = err
	if s.failed++; err == nil {
		s.failed = 0
	}
}

// err tells of a streak that is too long, nil: there is none.
func (s *streak) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed < streakMost {
		return nil
	}
	return fmt.Errorf("the last %d rounds failed: %s", s.failed, bound(s.last.Error()))
}
