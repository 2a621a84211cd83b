package ier

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// BreakerStatus is one target's breaker as readiness tells it.
type BreakerStatus struct {
	Target              string    `json:"target"`
	State               string    `json:"state"` // "closed", "half-open", "open"
	Since               time.Time `json:"since"` // when it last left the closed state, or came back to it
	Reason              string    `json:"reason,omitempty"`
	ConsecutiveFailures int       `json:"consecutiveFailures"`
	// Error is the text of the last outage, at most contracts.MaxErrorBytes; "" while it
	// answers. Readiness, which everybody reads, leaves it out.
	Error string `json:"-"`
}

// errCut marks a call that our own stop ended: it says nothing of the target.
var errCut = errors.New("cut by our own stop")

// suspect is a call that failed. An outage says so of the target; what counts for
// the record says something of the target only if it is the rule, see suspects.
type suspect struct {
	at        time.Time // when it began
	aggregate string
	outage    bool
	others    bool // wait that nobody has in memory yet
	error
}

// breaker guards one target. gobreaker decides; breaker adds what gobreaker
// does not keep: failures in a row across windows, since when and why it is
// open, and a way to tell others outside of any lock.
type breaker struct {
	target  string
	cfg     BreakerConfig
	now     func() time.Time
	log     *zap.Logger
	metrics *metrics
	changes *changes
	gate    *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu          sync.Mutex // taken inside gobreaker's lock, never around a call of it
	since       time.Time
	reason      string // code of the last outage
	message     string // its text
	consecutive int    // outages in a row, of the breaker's current state
	suspects    suspects
	culprits    culprits
	outliers    outliers
	probes      probes // of the outage that is
	ruled       bool   // it was found by what counts for records, and not by what says outage
	doubts      doubts // of outages since somebody was answered
	turns       turns
	outages     []span // the last ones, the one that is at the end
	probeAt     time.Time
	state       gobreaker.State
	probing     bool // the half-open state's one call is under way
	lone        bool // what closed it last were probes that failed for themselves
}

func newBreaker(target string, cfg Config, m *metrics, c *changes) *breaker {
	b := &breaker{
		target: target, cfg: cfg.Breaker, now: cfg.Now, metrics: m, changes: c,
		log:   cfg.Log.With(zap.String("target", target)),
		since: cfg.Now(),
	}
	b.gate = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:          target,
		MaxRequests:   1,
		Interval:      cfg.Breaker.Window,
		BucketPeriod:  cfg.Breaker.Window / breakerBuckets,
		Timeout:       cfg.Breaker.OpenFor,
		ReadyToTrip:   b.readyToTrip,
		IsSuccessful:  b.count,
		IsExcluded:    func(err error) bool { return errors.Is(err, errCut) },
		OnStateChange: b.changed,
	})
	return b
}

// allow asks for one call, of an aggregate. When it is granted, done must be called
// with what came of it: nil when the target answered, errCut, or a *suspect.
func (b *breaker) allow(aggregate string) (done func(error), ok bool) {
	if b.yields(aggregate) {
		return nil, false
	}
	report, err := b.gate.Allow()
	b.changes.flush()
	if err != nil {
		b.turnedAway(aggregate)
		return nil, false
	}
	probe := b.beginProbe()
	return func(failure error) {
		if probe {
			b.endProbe()
		}
		if failure == nil {
			b.answered(aggregate)
		}
		report(failure)
		b.late(failure)
		b.changes.flush()
	}, true
}

// late has an outage begin with a call whose result came when it had been found out already: gobreaker counts none
// from before a trip, and what failed with that call is not to be held against its records.
func (b *breaker) late(failure error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var s *suspect
	if b.state == gobreaker.StateClosed || !errors.As(failure, &s) {
		return
	}
	if outage := &b.outages[len(b.outages)-1]; s.at.Before(outage.from) {
		outage.from = s.at
	}
}

func (b *breaker) beginProbe() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != gobreaker.StateHalfOpen {
		return false
	}
	b.probing = true
	b.turns.begins()
	return true
}

// yields reports whether the next probe is another aggregate's.
func (b *breaker) yields(aggregate string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state != gobreaker.StateClosed && b.turns.yields(aggregate) && time.Now().Before(b.probeAt.Add(b.turn()))
}

// turn is for how long a probe is kept for those that have not probed yet.
func (b *breaker) turn() time.Duration { return b.cfg.OpenFor / 4 }

func (b *breaker) turnedAway(aggregate string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turns.turnedAway(aggregate)
}

// refuses reports whether a call of an aggregate would be refused now, and takes note
// that it waits.
func (b *breaker) refuses(aggregate string) bool {
	at := b.nextProbe(aggregate)
	if !at.After(time.Now()) {
		return false
	}
	b.turnedAway(aggregate)
	return true
}

func (b *breaker) answered(aggregate string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.culprits.answered(aggregate)
	b.outliers.answered(aggregate)
}

func (b *breaker) endProbe() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}

// count is gobreaker's IsSuccessful. gobreaker asks it once for each result
// that counts in the current state, which makes it the place to count outages
// in a row: gobreaker's own count forgets them when its window rolls on.
//
// A failure that counts for the record is none of the target as long as it is not
// the rule; but a probe has to succeed, or the first record that fails for itself
// would end an outage. Only where nothing but a record or two is there to probe, or
// nothing but culprits, it ends with those that fail. Outliers have no target out.
func (b *breaker) count(failure error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	var s *suspect
	if !errors.As(failure, &s) {
		b.consecutive, b.doubts = 0, doubts{}
		b.suspects.answered(b.now())
		return true
	}
	if s.outage {
		if b.outliers.failed(s.aggregate, b.now()); b.state == gobreaker.StateClosed && b.outliers.are(s.aggregate, b.now()) {
			return true
		}
	}
	b.culprits.failed(s)
	culprit := b.culprits.are(s.aggregate) || !s.outage && b.doubts.excuses(s.aggregate)
	if b.state != gobreaker.StateClosed {
		b.turns.failed(s.aggregate)
	}
	if b.state != gobreaker.StateClosed && b.probes.failed(s, culprit, b.doubts.times(b.ruled), b.cfg) {
		b.doubts.closed(b.probes)
		b.suspects.ended()
		b.consecutive = 0
		b.lone = true
		return true
	}
	rule := !culprit && b.suspects.failed(s.at, s.aggregate, b.cfg)
	switch {
	case s.outage:
		b.consecutive++
		b.ruled = false
	case b.state != gobreaker.StateClosed:
	case rule:
		b.consecutive = max(b.consecutive+1, b.cfg.Consecutive)
		b.ruled = true
	default:
		return true
	}
	b.reason, b.message = contracts.CodeOf(s.error), contracts.Clip(s.Error())
	return false
}

func (b *breaker) readyToTrip(c gobreaker.Counts) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.consecutive >= b.cfg.Consecutive {
		return true
	}
	calls := int(c.TotalSuccesses) + int(c.TotalFailures)
	return calls >= b.cfg.MinCalls && float64(c.TotalFailures) >= b.cfg.Ratio*float64(calls)
}

// changed is gobreaker's OnStateChange. It runs under gobreaker's lock, so it
// only takes note; changes.flush tells the subscribers later.
func (b *breaker) changed(_ string, from, to gobreaker.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = to
	b.metrics.setState(b.target, to)
	if to == gobreaker.StateOpen {
		// gobreaker lets a probe through after OpenFor, not at it.
		b.probeAt = time.Now().Add(b.cfg.OpenFor + time.Millisecond)
	}
	switch {
	case from == gobreaker.StateClosed:
		b.since = b.now()
		b.outages = append(b.outages[max(0, len(b.outages)+1-keptOutages):], span{from: b.suspects.since})
		b.probes, b.turns, b.lone = probes{}, turns{}, false
		b.metrics.breakerTrips.WithLabelValues(b.target).Inc()
		b.log.Warn("breaker opened: target is out",
			zap.String("code", b.reason), zap.String("error", b.message), zap.Int("consecutiveFailures", b.consecutive))
		b.changes.add(b.target, true)
	case to == gobreaker.StateClosed:
		out := b.now().Sub(b.since)
		b.since, b.reason, b.message = b.now(), "", ""
		b.outages[len(b.outages)-1].to = b.since
		if b.lone {
			b.log.Warn("breaker closed: nothing but what fails for itself probes the target", zap.Duration("out", out))
		} else {
			b.culprits.outageEnded()
			b.log.Info("breaker closed: target answers again", zap.Duration("out", out))
		}
		b.changes.add(b.target, false)
	}
}

// open reports whether the breaker is not closed. Asking may move an open
// breaker to half-open, never out of or into closed.
func (b *breaker) open() bool { return b.gate.State() != gobreaker.StateClosed }

// span is one outage.
type span struct {
	from time.Time // when calls began to fail
	to   time.Time // when it was over; zero while it is not
}

// keptOutages is how many outages are remembered: a record that fails three times
// has met no more of them, unless the target does little else.
const keptOutages = 8

// wasOut reports whether t lies in an outage that is remembered; see Router.WasOut.
func (b *breaker) wasOut(t time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.outages, func(o span) bool {
		return !o.from.IsZero() && !t.Before(o.from) && (o.to.IsZero() || !t.After(o.to))
	})
}

func (b *breaker) nextProbe(aggregate string) time.Time {
	state := b.gate.State()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case state == gobreaker.StateClosed:
		return time.Time{}
	case b.probing:
		return time.Now().Add(b.cfg.OpenFor)
	case b.turns.yields(aggregate):
		return b.probeAt.Add(b.turn())
	default:
		return b.probeAt
	}
}

func (b *breaker) status() BreakerStatus {
	state := b.gate.State()
	b.mu.Lock()
	defer b.mu.Unlock()
	return BreakerStatus{
		Target: b.target, State: state.String(), Since: b.since,
		Reason: b.reason, ConsecutiveFailures: b.consecutive, Error: b.message,
	}
}
