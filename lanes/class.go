package lanes

import "slices"

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

// next returns the class whose turn it is: of those that are ready and have room the
// one that is ready the longest. nil: there is none.
func (p *Pool) next() *class {
	var next *class
	for _, c := range p.classes {
		if c.ready.size > 0 && (next == nil || c.ready.first.turn < next.ready.first.turn) && p.hasRoom(c) {
			next = c
		}
	}
	return next
}

// reclass gives an aggregate that is ready the class of its head, where that changed. It
// keeps its turn.
func (p *Pool) reclass(a *aggregate) {
	c := p.classOf(a.queue.head())
	if c == a.class {
		return
	}
	a.class.ready.remove(a)
	a.class = c
	c.ready.insert(a)
	if p.hasRoom(c) {
		p.staff(1)
	}
}
