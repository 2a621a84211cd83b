package lanes

import (
	"maps"
	"slices"
	"time"
)

// Withdraw takes out of the lane those queued and waiting tasks of an aggregate
// that match wants, and returns them in order. They are the caller's again. The
// tasks of a run that a worker has now are not touched.
func (p *Pool) Withdraw(aggregate string, match func(*Task) bool) []*Task {
	taken, idle := p.withdraw(aggregate, match)
	if idle && p.cfg.Idle != nil {
		p.cfg.Idle(aggregate)
	}
	return taken
}

// WithdrawAll does as Withdraw does, for every aggregate. The tasks of each
// aggregate are in order.
func (p *Pool) WithdrawAll(match func(*Task) bool) (taken []*Task) {
	p.mu.Lock()
	aggregates := slices.Collect(maps.Keys(p.aggregates))
	p.mu.Unlock()
	for _, aggregate := range aggregates {
		taken = append(taken, p.Withdraw(aggregate, match)...)
	}
	return taken
}

// withdraw is the part of Withdraw that needs the lock. It reports whether Idle
// has to be told.
func (p *Pool) withdraw(aggregate string, match func(*Task) bool) (taken []*Task, idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.aggregates[aggregate]
	if a == nil {
		return nil, false
	}
	now := time.Now()
	var kept taskQueue
	for _, t := range a.queue {
		if match(t) {
			taken = append(taken, t)
		} else {
			kept.add(t)
		}
	}
	if len(taken) == 0 {
		return nil, false
	}
	slices.SortFunc(taken, (*Task).compare)
	for _, t := range taken {
		a.clock(t, now)
		p.leave(t)
	}
	before := a.queue.head()
	a.queue = kept
	switch head := kept.head(); {
	case a.place == isRunning: // the end of its run finds its place
		return taken, false
	case a.place == isWaiting && head == before:
		return taken, false
	case a.place == isReady && head != nil && !head.waits(now):
		p.reclass(a)
		return taken, false
	case a.place == isReady:
		a.class.ready.remove(a)
		p.ready--
	case a.place == isWaiting:
		p.stopWait(a, now)
	}
	return taken, p.settle(a, now)
}
