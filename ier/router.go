package ier

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Router delivers records to their targets. Its methods may be called by many
// goroutines; runs of one aggregate must not overlap, which is the lanes' part.
type Router struct {
	cfg      Config
	metrics  *metrics
	breakers map[string]*breaker
	changes  *changes
}

// New returns a router over cfg.Targets. It starts no goroutine and needs no
// closing.
func New(cfg Config) (*Router, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure router: %w", err)
	}
	cfg = cfg.withDefaults()
	r := &Router{cfg: cfg, metrics: newMetrics(cfg), changes: &changes{}, breakers: map[string]*breaker{}}
	for name := range cfg.Targets {
		r.breakers[name] = newBreaker(name, cfg, r.metrics, r.changes)
	}
	return r, nil
}

// Deliver takes a run of jobs of one aggregate, oldest first, and returns one
// outcome for each. Targets are served at the same time; at each of them a
// record waits for every older record of the run that needs that target too.
//
// It returns when all targets have answered. When ctx ends it returns as soon
// as the calls under way have, and attempts nothing new.
//
// waits is told, before and as targets answer, for which of them the run waits still; it
// must not keep the list. nil: nobody is told.
func (r *Router) Deliver(ctx context.Context, run []*Job, waits func(targets []string)) []Outcome {
	legs := split(run)
	open := newAwaited(legs, waits)
	r.each(legs, func(l *leg) {
		r.attempt(ctx, run, l)
		open.answered(l.target)
	})
	return gather(run, legs)
}

// each calls serve for every leg at the same time, and returns once all have ended. Then
// it repeats the panic of one: whoever takes the run up again must not meet the others.
func (r *Router) each(legs []*leg, serve func(*leg)) {
	var first atomic.Pointer[any]
	guarded := func(l *leg) {
		defer func() {
			if p := recover(); p != nil {
				r.cfg.Log.Error("delivery panicked", zap.String("target", l.target), zap.String("panic", contracts.PanicText(p)), zap.ByteString("stack", debug.Stack()))
				first.CompareAndSwap(nil, &p)
			}
		}()
		serve(l)
	}
	var wg sync.WaitGroup
	for _, l := range legs[min(1, len(legs)):] {
		wg.Go(func() { guarded(l) })
	}
	if len(legs) > 0 {
		guarded(legs[0])
	}
	wg.Wait()
	if p := first.Load(); p != nil {
		panic(*p)
	}
}

// leg is one target's share of a run.
type leg struct {
	target  string
	jobs    []int // indexes into the run, oldest first
	results []result
}

// result is what became of one job at one target. failure is set when state is
// failed.
type result struct {
	state   state
	failure TargetFailure
}

type state int

const (
	acked state = iota
	failed
	blocked
	behind
)

// split sorts a run by target.
func split(run []*Job) []*leg {
	var legs []*leg
	for i, job := range run {
		for _, target := range job.Targets {
			at := slices.IndexFunc(legs, func(l *leg) bool { return l.target == target })
			if at < 0 {
				at = len(legs)
				legs = append(legs, &leg{target: target})
			}
			if l := legs[at]; len(l.jobs) == 0 || l.jobs[len(l.jobs)-1] != i {
				l.jobs = append(l.jobs, i)
			}
		}
	}
	return legs
}

// gather turns the legs' results into one outcome for each job.
func gather(run []*Job, legs []*leg) []Outcome {
	outcomes := make([]Outcome, len(run))
	for _, l := range legs {
		for i, job := range l.jobs {
			o := &outcomes[job]
			switch l.results[i].state {
			case acked:
				o.Acked = append(o.Acked, l.target)
			case failed:
				o.Failed = append(o.Failed, l.results[i].failure)
			case blocked:
				o.Blocked = append(o.Blocked, l.target)
			case behind:
				o.Behind = append(o.Behind, l.target)
			}
		}
	}
	return outcomes
}

// Open reports whether target's breaker is not closed. A record for it had
// better wait until NextProbe.
func (r *Router) Open(target string) bool {
	b := r.breakers[target]
	return b != nil && b.open()
}

// WasOut reports whether target was out at a time: from the first failed call of an
// outage, before its breaker opened, to when that closed. What failed then is not
// held against the records. The last outages are remembered.
func (r *Router) WasOut(target string, at time.Time) bool {
	b := r.breakers[target]
	return b != nil && b.wasOut(at)
}

// NextProbe is when target's breaker lets a probe of a record through; that may be in
// the past. While a probe is under way it is when to look again. Zero when the
// breaker is closed.
func (r *Router) NextProbe(target string, rec *contracts.Record) time.Time {
	b := r.breakers[target]
	if b == nil {
		return time.Time{}
	}
	return b.nextProbe(suspectOf(rec))
}

// Refuses reports whether target's breaker would refuse a call of a record now. The
// record counts as waiting then, so that those which have probed in vain leave it a
// turn.
func (r *Router) Refuses(target string, rec *contracts.Record) bool {
	b := r.breakers[target]
	return b != nil && b.refuses(suspectOf(rec))
}

// Subscribe has f called after each change of a breaker between closed and not
// closed. f runs in the goroutine of some delivery, with no lock held: it may
// call the router, and should not take long.
func (r *Router) Subscribe(f func(target string, open bool)) { r.changes.subscribe(f) }

// Breakers lists all breakers by target name.
func (r *Router) Breakers() []BreakerStatus {
	var all []BreakerStatus
	for _, name := range slices.Sorted(maps.Keys(r.breakers)) {
		all = append(all, r.breakers[name].status())
	}
	return all
}
