package feed

import (
	"slices"
	"time"
)

// turn decides what a record does whose turn it is in its lane.
func (m *Machine) turn(e Turn) Action {
	r := e.Record
	m.unqueue(r)
	m.wakes(r)
	switch standing := m.standings[r.AggregateID]; {
	case r.stage == stageEnded:
		m.remove(r, time.Time{})
		return Action{Do: LetGo}
	case e.NotNow:
		return Action{Do: WaitTurn}
	case m.burying[r.Aggregate] > 0:
		return Action{Do: WaitBurial}
	case standing == Frozen:
		return Action{Do: Hold}
	case standing.shut():
		return m.withdrawn(r, e.Unsaved)
	case standing == Dying:
		m.rest(r, true)
		return Action{Do: WaitFreeze}
	case e.Later: // it was in backoff when it was read: its wait goes on
		m.rest(r, true)
		return Action{Do: WaitTurn}
	}
	f := r.feed()
	if f == nil {
		open, gated := withhold(slices.Clone(r.Targets), nil, e.Withheld)
		return Action{Do: Deliver, Open: open, Gated: gated}
	}
	if r.ahead && !f.comesTo(r) {
		m.rest(r, true)
		return Action{Do: WaitOlder}
	}
	r.ahead = false
	if g := f.gates[aggregateGate(r.Aggregate)]; g != nil && g.oldest < r.Version {
		return m.withdrawn(r, e.Unsaved) // its lane refused an older one
	}
	open, gated := f.split(r)
	open, gated = m.inTurn(r, open, gated)
	open, gated = withhold(open, gated, e.Withheld)
	return Action{Do: Deliver, Open: open, Gated: gated, Others: f.others(open)}
}

// wakes ends a record's wait: it runs.
func (m *Machine) wakes(r *Record) {
	awaited := r.awaits
	r.awaits = false
	m.rest(r, false)
	if f := r.feed(); awaited && f != nil {
		f.goesOn(r)
	}
}

// tried moves a record on after a round of delivery.
func (m *Machine) tried(e Tried) Action {
	r, f := e.Record, e.Record.feed()
	if r.stage == stageEnded {
		m.remove(r, time.Time{})
		return Action{Do: LetGo}
	}
	r.acked(e.Acked)
	if f != nil {
		for _, t := range e.Acked {
			f.gotThrough(t, r)
		}
		for _, t := range e.Alone {
			f.probesFail(t, r, mostProbes)
		}
		for _, t := range e.InVain {
			f.probesFail(t, r, fewProbes)
		}
	}
	switch e.Then {
	case Retries:
		m.rest(r, true)
	case Awaits:
		m.await(r)
	case Dies:
		m.bury(r)
	case Parks:
		if f == nil {
			return Action{Do: Probe}
		}
		return f.park(e)
	case Ends:
	}
	return Action{Do: Again}
}

// await has r wait until a target answers again, at no cost.
func (m *Machine) await(r *Record) {
	r.awaits = true
	m.rest(r, true)
}

// park decides about a record whose remaining targets cannot be reached now.
func (f *Feed) park(e Tried) Action {
	r, m := e.Record, f.machine
	hold, again, rest := false, false, false
	for _, t := range e.Blocked {
		g := f.gates[targetGate(t)]
		if g == nil {
			g = f.shutGate(t, r.Position())
			g.passes[r] = struct{}{}
		}
		g.shut()
		if g.passed(r) || g.yields(r) {
			hold = true
		} else {
			g.leave(r)
			f.probe(g)
		}
	}
	for _, t := range e.Gated {
		g := f.gates[targetGate(t)]
		switch {
		case m.overtakes(r) && (g == nil || g.passed(r)):
			rest = true
		case g == nil, (g.passed(r) || g.yields(r)) && g.draining:
			again = true
		case g.passed(r):
			hold = true
		case g.draining && !g.paging && r.CreatedAt.Before(g.from.At) && !m.overtakes(r):
			g.pass(r) // all older that was left there is back
			again = true
		default:
			g.leave(r)
		}
	}
	switch {
	case rest:
		m.rest(r, true)
		return Action{Do: Rest}
	case hold:
		m.await(r)
		return Action{Do: Probe}
	case again:
		return Action{Do: Again}
	case e.Unsaved:
		m.beginLeaving(r)
		return Action{Do: SaveIt}
	}
	m.remove(r, time.Time{})
	return Action{Do: Forget}
}

// refused leaves a record, which was admitted, behind its aggregate's gate, which it
// closes.
func (m *Machine) refused(e Refused) Action {
	r := e.Record
	if r.stage == stageEnded {
		m.remove(r, time.Time{})
		return Action{Do: LetGo}
	}
	r.Home.leaveAt(aggregateGate(r.Aggregate), r).refusedBy(e.By)
	if e.Unsaved {
		m.beginLeaving(r)
		return Action{Do: SaveIt}
	}
	m.remove(r, time.Time{})
	return Action{Do: Forget}
}

// hold has a record that is in no lane held, unless somebody else settled it.
func (m *Machine) hold(r *Record) Action {
	if r.stage == stageEnded {
		m.remove(r, time.Time{})
		return Action{Do: LetGo}
	}
	return Action{Do: Hold}
}

// withdrawn has a record that is in no lane leave memory, so that it is read again in
// the order of its aggregate: behind the freeze gate, while that is to stay shut.
func (m *Machine) withdrawn(r *Record, unsaved bool) Action {
	if r.stage != stageLane {
		if r.stage == stageEnded {
			m.remove(r, time.Time{})
		}
		return Action{Do: LetGo}
	}
	if r.Home != nil && m.standings[r.AggregateID].shut() {
		r.Home.leaveAt(freezeGate(r.AggregateID), r)
	}
	if unsaved {
		m.beginLeaving(r)
		return Action{Do: SaveIt}
	}
	r.Home.bringsBack(r)
	m.remove(r, time.Time{})
	return Action{Do: Forget}
}

// givenBack takes a record that is in no lane out of memory. Which targets have it
// is written first, so that the next owner does not deliver it to them again.
func (m *Machine) givenBack(e GivenBack) Action {
	r := e.Record
	if e.Unsaved && r.stage == stageLane {
		m.beginLeaving(r)
		return Action{Do: SaveIt}
	}
	m.remove(r, time.Time{})
	return Action{Do: Forget}
}
