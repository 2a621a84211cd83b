package admin

import (
	"context"
	"sync"
	"time"
)

const (
	// sharedWithin bounds a shared read: what shows it has more to show, and is
	// looked at most when Firestore does not answer.
	sharedWithin = 5 * time.Second
	// sharedAgain is how long a failed read is not tried again.
	sharedAgain = 3 * time.Second
)

// shared is something that Firestore asks money for and many want to know: all
// who ask within a while get the same, and one reads for all.
type shared[T any] struct {
	read func(context.Context) (T, error)
	good func(T) time.Duration // how long it is good for
	now  func() time.Time

	mu       sync.Mutex
	value    T
	readAt   time.Time // zero: never, or it was forgotten
	err      error     // of the last read
	failedAt time.Time
	flight   chan struct{} // closed when the read under way has ended; nil: there is none
	changes  int           // counts the calls of forget: a read that began before one tells nothing
}

// get returns the value. Where it cannot be read there is an error beside the
// last that could; readAt is zero where there was none.
func (s *shared[T]) get(ctx context.Context) (value T, readAt time.Time, err error) {
	for {
		s.mu.Lock()
		now := s.now()
		switch {
		case !s.readAt.IsZero() && s.err == nil && now.Sub(s.readAt) < s.good(s.value),
			s.err != nil && now.Sub(s.failedAt) < sharedAgain:
			value, readAt, err = s.value, s.readAt, s.err
			s.mu.Unlock()
			return value, readAt, err
		case s.flight == nil:
			s.flight = make(chan struct{})
			changes := s.changes
			s.mu.Unlock()
			if s.fly(ctx, changes) {
				return s.last()
			}
			continue
		}
		flight := s.flight
		s.mu.Unlock()
		select {
		case <-flight:
		case <-ctx.Done():
			return value, time.Time{}, ctx.Err()
		}
	}
}

// last is what the last read came to.
func (s *shared[T]) last() (value T, readAt time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.readAt, s.err
}

// fly reads, and reports whether that still tells something. Who asked first may
// go away: the others wait for it.
func (s *shared[T]) fly(ctx context.Context, changes int) (stands bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedWithin)
	defer cancel()
	began := s.now()
	var value T
	var err error
	ended := false
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.flight)
		s.flight = nil
		if stands = ended && s.changes == changes; !stands {
			return
		}
		if s.err = err; err != nil {
			s.failedAt = s.now()
			return
		}
		s.value, s.readAt = value, began
	}()
	value, err = s.read(ctx)
	ended = true
	return false
}

// forget has the next one who asks read anew.
func (s *shared[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readAt, s.err = time.Time{}, nil
	s.changes++
}
