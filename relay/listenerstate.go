package relay

import "time"

// States of a listener.
const (
	stateStarting   = "starting"
	stateAlive      = "alive"
	stateRebuilding = "rebuilding"
	statePaging     = "paging"
	// stateUnproven is told of one that is alive or paging as far as its stream tells, but has owed a proof for longer than
	// proofWithin: where nothing answers, Google's client opens a stream again and again by itself, and says nothing. So it is
	// of one that is still starting then, as where the index of its pages is missing.
	stateUnproven = "unproven"
)

// proofWithin is how long a proof may be due before the alert RelayListenerNotProven counts it, too.
const proofWithin = time.Minute

// listenerState outlives the listeners that a reader opens and closes.
type listenerState struct {
	health *outboxHealth
	name   string
	wanted chan struct{} // a token when a proof is asked

	// Guarded by health.mu.
	state    string
	provenAt time.Time
	trip     time.Duration
	rebuilds int
	reason   string
	since    time.Time // from when it owes proofs; zero while it is closed
	asked    time.Time // since when a proof is asked that it did not give yet; zero: none is
	canary   bool      // it was touched, and stands in the outbox
	failing  time.Time // since when pages cannot be read in its place; zero: they can
}

func (s *listenerState) set(f func()) {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	f()
}

func (s *listenerState) opened() { s.set(func() { s.state = stateAlive }) }

func (s *listenerState) closed() {
	s.set(func() { s.state, s.since, s.asked = statePaging, time.Time{}, time.Time{} })
}

// began tells that it was opened, and owes proofs from now on.
func (s *listenerState) began(now time.Time) { s.set(func() { s.since = now }) }

// paged tells whether what pages bring in its place could be read.
func (s *listenerState) paged(now time.Time, err error) {
	s.set(func() {
		switch {
		case err == nil:
			s.failing = time.Time{}
		case s.failing.IsZero():
			s.failing = now
		}
	})
}

// dueLocked is how long a proof that it lives is due.
func (s *listenerState) dueLocked(now time.Time) time.Duration {
	var due time.Duration
	switch {
	case s.since.IsZero():
	case s.provenAt.Before(s.since):
		due = now.Sub(s.since)
	case !s.asked.IsZero():
		due = now.Sub(s.asked)
	}
	if !s.failing.IsZero() {
		due = max(due, now.Sub(s.failing))
	}
	return max(due, 0)
}

func (s *listenerState) ended(reason string) {
	s.health.metrics.rebuilds.WithLabelValues(s.health.name, s.name, reason).Inc()
	s.set(func() { s.state, s.reason = stateRebuilding, reason; s.rebuilds++ })
}

func (s *listenerState) proven(touched, seen time.Time) {
	s.health.metrics.canary.WithLabelValues(s.health.name, s.name).Observe(seen.Sub(touched).Seconds())
	s.set(func() {
		s.state, s.provenAt, s.trip = stateAlive, seen, seen.Sub(touched)
		if !s.asked.After(touched) {
			s.asked = time.Time{}
		}
	})
}

func (s *listenerState) healthLocked(now time.Time) ListenerHealth {
	out := ListenerHealth{Listener: s.name, State: s.state, CanaryMillis: s.trip.Milliseconds(), Rebuilds: s.rebuilds, LastReason: s.reason}
	if !s.provenAt.IsZero() {
		at := s.provenAt
		out.ProvenAt = &at
	}
	if (out.works() || out.State == stateStarting) && s.dueLocked(now) > proofWithin {
		out.State = stateUnproven
	}
	return out
}

// works reports whether records come by it, or by pages in its place.
func (l ListenerHealth) works() bool { return l.State == stateAlive || l.State == statePaging }
