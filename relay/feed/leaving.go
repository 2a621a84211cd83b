package feed

import "slices"

// beginLeaving makes r one that leaves memory once its progress is written.
func (m *Machine) beginLeaving(r *Record) {
	r.stage = stageLeaving
	m.leaving[r.Aggregate] = append(m.leaving[r.Aggregate], r)
}

// overtakes reports whether an older record of r's aggregate is leaving: it is read
// again after that, and goes before r.
func (m *Machine) overtakes(r *Record) bool {
	return slices.ContainsFunc(m.leaving[r.Aggregate], func(older *Record) bool {
		return older != r && older.Version <= r.Version
	})
}

// hasLeft is the end of that, also for one that somebody else settled meanwhile.
func (m *Machine) hasLeft(r *Record) {
	before := m.leaving[r.Aggregate]
	after := slices.DeleteFunc(before, func(each *Record) bool { return each == r })
	if len(after) == len(before) {
		return
	}
	m.do(Action{Do: Wake, Record: r})
	if m.leaving[r.Aggregate] = after; len(after) > 0 {
		return
	}
	delete(m.leaving, r.Aggregate)
	for _, f := range m.feeds {
		if g := f.gates[aggregateGate(r.Aggregate)]; g != nil && g.lingering {
			g.lingering = false
			f.reopen(r.Aggregate, g)
		}
	}
}

// lingers tells that r leaves memory for long, if it does.
func (m *Machine) lingers(r *Record) {
	if r.stage != stageLeaving || m.held[r.ID] != r {
		return
	}
	r.lingers = true
	m.do(Action{Do: Wake, Record: r})
}

// waitsFor returns the record that r, which has been read, waits for: one of its
// aggregate that leaves memory. If that lingers, r is left behind the aggregate's gate.
func (f *Feed) waitsFor(r *Record) (older *Record, left bool) {
	leaving := f.machine.leaving[r.Aggregate]
	if len(leaving) == 0 {
		return nil, false
	}
	for _, older := range leaving {
		if !older.lingers {
			return older, false
		}
	}
	f.leaveAt(aggregateGate(r.Aggregate), r).lingering = true
	return nil, true
}
