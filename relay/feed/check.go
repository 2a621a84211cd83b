package feed

import (
	"errors"
	"fmt"
	"slices"
)

// Check says what of the machine's own invariants does not hold, for tests: that
// nothing pending is forgotten shows only beside what stands in Firestore. It walks
// all that is in memory.
func (m *Machine) Check() error {
	var faults []error
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	type room struct{ running, resting int }
	rooms := make(map[*Feed]room)
	burying, leaving := make(map[string]int), 0
	for id, r := range m.held {
		if r.ID != id {
			wrong("%s is held as %s", r.ID, id)
		}
		if r.takesRoom() {
			n := rooms[r.Home]
			if r.resting {
				n.resting++
			} else {
				n.running++
			}
			rooms[r.Home] = n
		}
		if r.burying {
			burying[r.Aggregate]++
		}
		if slices.Contains(m.leaving[r.Aggregate], r) != (r.stage == stageLeaving) {
			wrong("%s is in stage %d, and among those that leave: %t", id, r.stage, r.stage != stageLeaving)
		}
		if r.stage == stageLeaving {
			leaving++
		}
	}
	for aggregate, all := range m.leaving {
		if leaving -= len(all); len(all) == 0 {
			wrong("none of %q leaves, and it is remembered", aggregate)
		}
	}
	for aggregate, all := range m.queued {
		for i, r := range all {
			if m.held[r.ID] != r || !r.queued || r.Aggregate != aggregate || i > 0 && r.olderThan(all[i-1]) {
				wrong("%s is no %d. of %q that had no turn", r.ID, i+1, aggregate)
			}
		}
	}
	if leaving != 0 {
		wrong("%d of those that leave are not held", -leaving)
	}
	for aggregate, n := range m.burying {
		if burying[aggregate] != n {
			wrong("%d of %q are to be dead-lettered, counted %d", burying[aggregate], aggregate, n)
		}
	}
	for _, f := range m.feeds {
		if got := (room{f.running, f.resting}); got != rooms[f] {
			wrong("%s counts %+v, has %+v", f.Lane, got, rooms[f])
		}
		for key, g := range f.gates {
			f.checkGate(key, g, wrong)
		}
	}
	return errors.Join(faults...)
}

func (f *Feed) checkGate(key string, g *Gate, wrong func(string, ...any)) {
	if g.feed != f {
		wrong("the gate of %q is another feed's", key)
	}
	if g.target == "" {
		return
	}
	if key != targetGate(g.target) {
		wrong("the gate of %s stands as %q", g.target, key)
	}
	if len(g.passes) == 0 && !g.draining {
		wrong("the gate of %s is shut, and nobody probes for it", g.target)
	}
	for r := range g.passes {
		if f.machine.held[r.ID] != r {
			wrong("%s has a pass to %s, and is not in memory", r.ID, g.target)
		}
		if r.feed() != f {
			wrong("%s has a pass of another feed", r.ID)
		}
	}
	if len(g.passes) == 0 && g.draining && !g.paging && g.emptied() {
		wrong("the gate of %s stands for nothing", g.target)
	}
}

// Forgotten reports, for tests, whether a pending record that stands in Firestore
// would never be brought: the feed's pages have passed it, and it is neither in
// memory nor behind a gate.
func (f *Feed) Forgotten(r *Record) bool {
	if f.machine.held[r.ID] != nil || !f.cursor.Covers(r.Position()) {
		return false
	}
	if f.gates[freezeGate(r.AggregateID)].keeps(r) || f.gates[aggregateGate(r.Aggregate)].keeps(r) {
		return false
	}
	return !slices.ContainsFunc(r.Targets, func(t string) bool { return f.gates[targetGate(t)].keeps(r) })
}

// keeps reports whether r comes once all that is left behind g is brought back. A
// nil gate keeps nothing.
func (g *Gate) keeps(r *Record) bool {
	p := r.Position()
	switch {
	case g == nil:
		return false
	case g.target == "":
		return !p.Before(g.from)
	case g.paging: // it may be on the page
		return true
	}
	return g.from.Before(p) && !g.last.Before(p)
}
