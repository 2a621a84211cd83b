package lanes

import (
	"maps"
	"slices"
)

// full reports whether a need has all the workers that it may have.
func (p *Pool) full(need string) bool { return p.cfg.Share > 0 && p.busy[need] >= p.cfg.Share }

// hasRoom reports whether none of the class's needs is full.
func (p *Pool) hasRoom(c *class) bool { return !slices.ContainsFunc(c.needs, p.full) }

// joins reports whether t may join the run that begins for a, and adds what it needs to
// what the run does: that must not be full, unless the run needs it already.
func (p *Pool) joins(a *aggregate, t *Task) bool {
	needs := a.needs
	for _, n := range t.Needs {
		switch {
		case slices.Contains(needs, n):
		case p.full(n):
			return false
		default:
			needs = append(needs, n)
		}
	}
	a.needs = needs
	return true
}

// WaitsFor tells that the run of an aggregate waits for these needs alone by now: those
// that it does not have to wait for any more leave its worker to their share. Needs that
// the run did not have add nothing. It is for the handler of the run, while it handles it.
func (p *Pool) WaitsFor(aggregate string, needs []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.aggregates[aggregate]
	if a == nil || a.place != isRunning {
		return
	}
	met := func(n string) bool { return !slices.Contains(needs, n) }
	if !slices.ContainsFunc(a.needs, met) {
		return
	}
	before := a.needs
	a.needs = slices.DeleteFunc(slices.Clone(before), met)
	p.occupy(before, -1)
	p.occupy(a.needs, 1)
	p.fill(len(before) - len(a.needs))
}

// occupy notes that runs with these needs have so many more workers.
func (p *Pool) occupy(needs []string, by int) {
	for _, n := range needs {
		if p.busy[n] += by; p.busy[n] == 0 {
			delete(p.busy, n)
		}
	}
}

// fill puts up to n workers on what has room now.
func (p *Pool) fill(n int) {
	if n > 0 && p.next() != nil {
		p.staff(n)
	}
}

// Busy returns how many workers the runs that wait for a need have now.
func (p *Pool) Busy() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.busy)
}
