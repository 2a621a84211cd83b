package lanes

import (
	"slices"
	"time"
)

// short reports whether a run ends with tasks that wait while there is little room.
func (p *Pool) short(a *aggregate, verdicts []Verdict) bool {
	waits := func(v Verdict) bool { return v.Action == Retry }
	return p.cfg.Short != nil && slices.ContainsFunc(verdicts, waits) && p.cfg.Short(a.run[0])
}

// shed takes the younger half of what queues behind a head that waits out of a's
// queue, as far as it was offered.
func (p *Pool) shed(a *aggregate, now time.Time) []*Task {
	if head := a.queue.head(); len(a.queue) < 2 || !head.waits(now) {
		return nil
	}
	queue := slices.SortedFunc(slices.Values(a.queue), (*Task).compare)
	kept := len(queue)
	for kept > 1+(len(queue)-1)/2 && queue[kept-1].stay.offered && kept-1 > queue[kept-1].stay.behind {
		kept--
	}
	out := slices.Clone(queue[kept:])
	a.queue = slices.Delete(queue, kept, len(queue)) // in order, so that it is a heap
	for _, t := range out {
		a.clock(t, now)
		p.leave(t)
		a.refuse(t)
	}
	return out
}

// concludeShed is conclude once Shed was handed what is too many: until then a counts
// as running, so that nothing younger gets there first.
func (p *Pool) concludeShed(a *aggregate) (idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drained {
		return false
	}
	a.woken = nil
	return p.settle(a, time.Now())
}
