package lanes

import (
	"maps"
	"slices"
)

// class is the ready aggregates whose heads have the same needs. Classes take turns
// by how many workers they have, so that many tasks of one, or slow ones, delay
// those of another no more than by the end of a run.
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

// load is how many workers the most used of a class's needs has.
func (p *Pool) load(c *class) int {
	load := 0
	for _, n := range c.needs {
		load = max(load, p.busy[n])
	}
	return load
}

// full reports whether one of the class's needs has all the workers that it may have.
func (p *Pool) full(c *class) bool {
	return p.cfg.Share > 0 && p.load(c) >= p.cfg.Share
}

// next returns the class whose turn it is: of those that are ready and not full the
// one with the least load, and of equals the one that is ready the longest. nil: there is none.
func (p *Pool) next() *class {
	var best *class
	var least int
	for _, c := range p.classes {
		if c.ready.size == 0 || p.full(c) {
			continue
		}
		load := p.load(c)
		if best == nil || load < least || load == least && c.ready.first.turn < best.ready.first.turn {
			best, least = c, load
		}
	}
	return best
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
