package feed

import "slices"

// A drain brings back what was left behind the gates of targets that answer
// again. It reads the pages between the oldest and the youngest of them, small ones
// first: the next is twice as large, and comes once half of the last is through,
// as long as the target answers. So a target that comes back is not run over, and
// one that answers only now and then costs no more reads than it takes records.
//
// It never gets ahead of its feed: what the feed was sent back for, as an aggregate
// goes on whose freeze is released, may be older than what waits for the target.

// leastDrain is the size of a drain's first page, in documents.
const leastDrain = 32

// leastProbes is the size of a page that brings more records to probe a target.
const leastProbes = 4

// mostProbes is how many records at most are brought back to probe a target that
// fails them all.
const mostProbes = 64

// fewProbes is of how many aggregates they are as long as they fail as in an outage:
// one of them may do so whatever its target does.
const fewProbes = 3

// ReadBack says what to read back of what was left behind a gate.
type ReadBack struct {
	Gate   *Gate
	Target string
	After  Position // where it begins
	Last   Position // how far it may go: what comes behind was not left there, or not passed by the feed
	Limit  int      // documents, as far as the feed's memory allows: whole commits
}

// BeginBack begins a page of what was left behind a gate of the feed; false when
// nothing may be brought back yet. BackEnded ends it.
func (f *Feed) BeginBack() (ReadBack, bool) {
	g := f.nextDrain()
	if g == nil {
		return ReadBack{}, false
	}
	if g.size = max(g.size, leastDrain); !g.draining {
		g.size = leastProbes
	}
	g.another, g.paging, g.meanwhile, g.until = false, true, Position{}, g.last
	if end := f.readUpTo(); end.Before(g.until) {
		g.until = end
	}
	return ReadBack{Gate: g, Target: g.target, After: g.from, Last: g.until, Limit: g.size}, true
}

// Drains reports whether there is something to read back.
func (f *Feed) Drains() bool { return f.nextDrain() != nil }

// nextDrain returns a gate whose next page may be brought back; nil when no
// gate's may yet.
func (f *Feed) nextDrain() *Gate {
	var next *Gate
	for _, g := range f.gates {
		if g.target == "" || g.emptied() || !g.draining && !g.another || !g.from.Before(f.readUpTo()) {
			continue
		}
		if g.draining && g.underWay() > max(g.size, leastDrain)/2 {
			continue
		}
		if next == nil || g.from.Before(next.from) {
			next = g
		}
	}
	return next
}

// underWay counts the records with a pass that the target has not answered yet. One
// that failed there for itself waits for its retry, and for nobody else.
func (g *Gate) underWay() int {
	n := 0
	for r := range g.passes {
		if r.awaits || !r.resting {
			n++
		}
	}
	return n
}

// waits reports whether a record with a pass waits for the target to answer again:
// not behind one of its aggregate that waits for its own retry.
func (g *Gate) waits() bool {
	own := make(map[string]bool)
	for r := range g.passes {
		if r.resting && !r.awaits {
			own[r.Aggregate] = true
		}
	}
	for r := range g.passes {
		if r.awaits && !own[r.Aggregate] {
			return true
		}
	}
	return false
}

// back takes in what a page showed of what was left behind a gate. Those that are in
// memory get their passes once all others are: they may be younger.
func (f *Feed) back(e Back) Taken {
	for _, id := range e.Known {
		if _, left := e.Gate.left[id]; left && f.machine.held[id] == nil {
			return Taken{Stopped: StoppedStale} // it left memory for good since: the page is older than that
		}
	}
	for i, r := range e.Records {
		if !f.Room() {
			return Taken{Records: i, Stopped: StoppedFull}
		}
		switch stop, behind := f.admitBack(r, e.Gate); stop {
		case NotStopped:
		case StoppedSubmit:
			return Taken{Records: i + 1, Stopped: stop}
		default:
			return Taken{Records: i, Stopped: stop, Behind: behind}
		}
	}
	for _, id := range e.Known {
		f.passHeld(e.Gate, id)
	}
	return Taken{Records: len(e.Records)}
}

// backEnded ends a page of g that was brought back up to a place.
func (f *Feed) backEnded(g *Gate, upTo Position) {
	moved := g.from.Before(upTo)
	g.paging = false
	if g.until.Before(upTo) {
		upTo = g.until
	}
	if g.from.Before(upTo) {
		g.from = upTo
	}
	if !g.meanwhile.Zero() && g.meanwhile.Before(g.from) {
		g.from = g.meanwhile
	}
	if moved && g.draining {
		g.size = min(2*g.size, max(leastDrain, f.capacity/2))
	}
	f.probe(g)
	f.dismiss(g)
}

// passHeld gives a record that a page shows its pass if it is in memory; not if an
// older one of its aggregate is leaving, which no query may show before that is
// written.
func (f *Feed) passHeld(g *Gate, id string) {
	r := f.machine.held[id]
	if r != nil && r.stage != stageLeaving && r.feed() == f && !f.machine.overtakes(r) && !g.outdated(r.Position()) {
		g.pass(r)
	}
}

// outdated reports whether the page that is being brought back is too old to tell
// of the records at p: an older one was left behind since it was read.
func (g *Gate) outdated(p Position) bool { return !g.meanwhile.Zero() && !p.Before(g.meanwhile) }

// admitBack takes a record into memory that was left behind g, with a pass; or
// leaves it behind its aggregate's gate. What is outdated comes with another page.
func (f *Feed) admitBack(r *Record, g *Gate) (stop Stop, behind *Record) {
	m := f.machine
	_, left := g.left[r.ID]
	if held := m.held[r.ID]; held != nil {
		if m.Leaves(held) {
			return StoppedLeaving, held
		}
		f.passHeld(g, r.ID)
		return NotStopped, nil
	}
	if m.settled.judge(r.Sight, f.Lane) == Known { // it came another way since it was read
		if left {
			return StoppedStale, nil
		}
		return NotStopped, nil
	}
	if f.readUpTo().Before(r.Position()) {
		return StoppedStale, nil // the feed was sent back: it comes to older ones first
	}
	if older, behind := f.waitsFor(r); older != nil {
		return StoppedLeaving, older
	} else if behind {
		return NotStopped, nil
	}
	switch {
	case r.Faulty || !left && g.more == 0 || !slices.Contains(r.Targets, g.target): // the feed sees to it
	case g.outdated(r.Position()):
	case f.leavesBehind(r):
	default:
		m.admit(r)
		g.pass(r)
		if !left {
			g.more--
		}
		m.do(Action{Do: Submit, Record: r})
		return StoppedSubmit, nil
	}
	return NotStopped, nil
}

// others lists the targets for which more wait behind their gates than probe them.
func (f *Feed) others(targets []string) (out []string) {
	if len(f.gates) == 0 {
		return nil
	}
	for _, t := range targets {
		if g := f.gates[targetGate(t)]; g != nil && g.wantsProbes(mostProbes) {
			out = append(out, t)
		}
	}
	return out
}

// wantsProbes reports whether more would probe the target if they were brought back:
// of so many aggregates, and while there is room for others.
func (g *Gate) wantsProbes(aggregates int) bool {
	if g.emptied() || len(g.passes) >= min(mostProbes, max(fewProbes, g.feed.capacity/4)) {
		return false
	}
	probing := make(map[string]struct{})
	for r := range g.passes {
		probing[r.Aggregate] = struct{}{}
	}
	return len(probing) < aggregates
}

// probesFail tells that r, with a pass, may be no good probe of a target that is out,
// so that the gate brings back a few more. Enough of them tell.
func (f *Feed) probesFail(target string, r *Record, aggregates int) {
	if g := f.gates[targetGate(target)]; g != nil && g.passed(r) && g.wantsProbes(aggregates) {
		g.another = true
		f.machine.do(Action{Do: DrainOn, Feed: f})
	}
}
