package feed

import "time"

// settle has a settlement written: now, or after the one of its record that is being
// written. A newer one takes the place of one that waits.
func (m *Machine) settle(s *Settlement) {
	r := s.Record
	if s.Kind == End && r.stage == stageLane {
		r.stage = stageSettling
	}
	if r.writing {
		r.next = s
		return
	}
	m.writes(r, s)
}

// writes begins to write s; nil: nothing of r is being written.
func (m *Machine) writes(r *Record, s *Settlement) {
	switch {
	case s != nil && !r.writing:
		m.writing++
	case s == nil && r.writing:
		m.writing--
	}
	if r.writing = s != nil; s != nil {
		m.do(Action{Do: Write, Write: s})
	}
}

// over ends a settlement that was written, or is not to be. What waited for that is
// written then; it reports whether there was something.
func (m *Machine) over(s *Settlement) (another bool) {
	r := s.Record
	next := r.next
	r.next = nil
	m.writes(r, next)
	return next != nil
}

// wasSettled moves a record on whose settlement was written.
func (m *Machine) wasSettled(e Settled) {
	r := e.Settlement.Record
	r.changed = e.At
	m.over(e.Settlement)
	switch e.Settlement.Kind {
	case End:
		if m.remove(r, e.At); e.At.IsZero() {
			m.settled.add(r.settledIn(), r.ID, settled{created: instantOf(r.CreateTime), since: instantOf(m.heard)})
		}
	case Save:
		m.saved(r, e.At)
	case Mark:
	}
}

// overtaken moves a record on which somebody else has settled.
func (m *Machine) overtaken(e Overtaken) {
	r := e.Settlement.Record
	if m.over(e.Settlement) {
		return // the newer one finds its own answer
	}
	switch e.Settlement.Kind {
	case End:
		m.remove(r, e.At)
	case Save:
		m.saved(r, e.At)
	case Mark:
		r.stage = stageEnded // its lane lets go of it at its next turn
	}
}

// elsewhere has the lane drop what it has of a record that somebody else settled, and
// what was read before that is known. One that is being written finds out by that.
func (m *Machine) elsewhere(e Elsewhere) {
	m.settled.add("", e.ID, settled{at: instantOf(e.At)})
	if r := m.held[e.ID]; r != nil && r.stage == stageLane && !r.writing && r.changed.Before(e.At) {
		r.stage = stageEnded
	}
}

// saved takes a record out of memory whose progress was written. The gates before it
// bring it back.
func (m *Machine) saved(r *Record, at time.Time) {
	r.Home.bringsBack(r)
	m.remove(r, at)
}

// unheld has a record whose hold is given up read again in its turn, or submitted if
// no feed would bring it.
func (m *Machine) unheld(e Unheld) {
	r := e.Settlement.Record
	m.over(e.Settlement)
	r.stage = stageLane
	if r.Home == nil && !m.standings[r.AggregateID].shut() {
		m.do(Action{Do: Submit, Record: r})
		return
	}
	m.becomes(r, m.withdrawn(r, e.Unsaved))
}
