package lanes

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Drain closes the pool: it takes nothing more, hands out nothing more, waits
// for the running runs until ctx ends, and returns the tasks that were not
// finished, each aggregate's in order. If ctx ends first, the handlers' context
// is cancelled and the tasks of their runs are among those returned: they may
// still turn out to be done. A later Drain returns nothing.
func (p *Pool) Drain(ctx context.Context) []*Task {
	select {
	case <-p.beginDrain():
	case <-ctx.Done():
	}
	return p.giveBack()
}

// beginDrain closes the pool. The channel is closed once no run is running.
func (p *Pool) beginDrain() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close()
	if p.quiet == nil {
		p.quiet = make(chan struct{})
		if p.workers == 0 {
			close(p.quiet)
		}
	}
	return p.quiet
}

// close makes the pool take and hand out nothing more.
func (p *Pool) close() {
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// giveBack takes every task out of the pool and ends the handlers' context.
func (p *Pool) giveBack() []*Task {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel != nil {
		p.unwatch()
		p.cancel(ErrDraining)
	}
	p.drained = true
	now := time.Now()
	var tasks []*Task
	for _, a := range p.aggregates {
		for _, t := range a.queue {
			a.clock(t, now)
		}
		tasks = append(append(tasks, a.run...), a.queue...)
	}
	for _, t := range tasks {
		t.stay.inLane = false
	}
	clear(p.aggregates)
	p.classes, p.ready, p.waiting = nil, 0, nil
	slices.SortFunc(tasks, func(a, b *Task) int {
		return cmp.Or(cmp.Compare(a.Aggregate, b.Aggregate), a.compare(b))
	})
	return tasks
}
