package lanes

import (
	"maps"
	"slices"
)

// class is the ready aggregates whose heads have the same needs. First come is first
// served over all classes, but for those of which a need has its share of the workers.
type class struct {
	needs []string
	ready readyList
}

// classOf finds the class of a task, or begins one.
func (p *Pool) classOf(t *Task) *class {
	for _, c := range p.classes {
		if slices.Equal(c.needs, t.Needs) {
			return c
		}
	}
	c := &class{needs: t.Needs}
	p.classes = append(p.classes, c)
	return c
}

// full reports whether one of the class's needs has all the workers that it may have.
func (p *Pool) full(c *class) bool {
	return p.cfg.Share > 0 && slices.ContainsFunc(c.needs, func(n string) bool { return p.busy[n] >= p.cfg.Share })
}

// next returns the class whose turn it is: of those that are ready and not full the
// one that is ready the longest. nil: there is none.
func (p *Pool) next() *class {
	var next *class
	for _, c := range p.classes {
		if c.ready.size > 0 && (next == nil || c.ready.first.turn < next.ready.first.turn) && !p.full(c) {
			next = c
		}
	}
	return next
}

// Busy returns how many workers the runs that need a target have now.
func (p *Pool) Busy() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.busy)
}

// occupy notes that a run of the class has one more worker, or one less.
func (p *Pool) occupy(c *class, by int) {
	for _, n := range c.needs {
		if p.busy[n] += by; p.busy[n] == 0 {
			delete(p.busy, n)
		}
	}
}
