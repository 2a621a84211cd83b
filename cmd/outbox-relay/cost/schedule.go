package cost

import (
	"time"

	"outboxrelay/relay"
	"outboxrelay/relay/lease"
)

// Schedule is how often a relay does what it does without any record.
type Schedule struct {
	Canary  time.Duration // each listener of an outbox is proven alive
	Recycle time.Duration // a listener is replaced, which reads its window again
	Sweep   time.Duration // an outbox, the freezes and the lane controls are looked through
	Renew   time.Duration // leases are renewed, and looked at
	Poll    time.Duration // each part of the dead-letter queue looks for work
	Quiet   time.Duration // a listener of the dead-letter queue is replaced
	Gauge   time.Duration // the dead-letter queue is counted
}

// NewSchedule is that of a relay with such a tuning, whose zero fields stand for
// their defaults, and such a lease term; 0 is the default.
func NewSchedule(t relay.Tuning, leaseTerm time.Duration) Schedule {
	d := relay.DefaultTuning()
	or := func(v, standard time.Duration) time.Duration {
		if v == 0 {
			return standard
		}
		return v
	}
	return Schedule{
		Canary: or(t.CanaryInterval, d.CanaryInterval), Recycle: or(t.RecycleAfter, d.RecycleAfter), Sweep: or(t.SweepInterval, d.SweepInterval),
		Renew: or(leaseTerm, lease.DefaultTerm) / renewals, Poll: queuePoll, Quiet: queueQuiet, Gauge: queueGauge,
	}
}

// What other packages keep to themselves. The tests against the embedded server's
// bill fail when one of them changes there.
const (
	renewals   = 3                // in a lease term
	queuePoll  = 15 * time.Second // sibling.Config.Poll
	queueQuiet = time.Minute      // sibling.Config.Quiet
	queueGauge = 30 * time.Second // review.Config.GaugeEvery
	// outboxesInQuery is how many outboxes one query of the dead-letter queue names.
	outboxesInQuery = 30
	// openStates is the number of states in which dead letters wait.
	openStates = 4
)
