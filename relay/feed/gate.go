package feed

import (
	"slices"

	"outboxrelay/contracts"
)

// Gate holds back the records of one target whose breaker is open, or of one
// aggregate: one that has too many behind a failing head, of which one lingers, or
// whose freeze is being released. They stay pending in Firestore, out of memory.
//
// The gate of an aggregate opens at once: the feed goes back to the oldest that
// was left behind. The gate of a target opens slowly, see drain: what is left
// behind it is brought back page by page, and whatever else comes for the target
// meanwhile is left behind too, so that none overtakes. Records that may go to the
// target have a pass: the first that met the gate, which probes the target, and
// those that were brought back. They stay in memory until they are through, so
// that none is read again however often the target fails and answers.
//
// While a target's gate is shut, a record with a pass is in memory to probe for
// the others.
type Gate struct {
	feed   *Feed
	target string // "" for an aggregate's gate
	frozen bool   // the gate of a freeze: what is behind it waits for a person
	// The gate of an aggregate opens once no record of it lingers in memory, and no lane
	// that refused some of it has more.
	lingering bool
	refusing  []contracts.Lane
	// from is where what was left behind begins; for a target's gate the place
	// after which it is read back, which moves on with each page.
	from Position
	last Position // the youngest that was left behind
	// oldest is the lowest version that was left behind an aggregate's gate: younger
	// ones in memory go behind it too.
	oldest int64
	left   map[string]struct{} // document IDs left behind, up to gateMemory
	more   int                 // left behind beyond those; one may be counted twice

	// Of a target's gate.
	passes    map[*Record]struct{} // records in memory that may go to the target
	draining  bool                 // the target answers: what is left behind is brought back
	another   bool                 // the target is out, or its probes fail for themselves: bring a few more
	paging    bool                 // a page is being brought back
	until     Position             // ... up to there at most
	meanwhile Position             // the oldest that was left behind meanwhile
	size      int                  // documents of the next page; 0: the least
}

// gateMemory bounds the document IDs that a gate remembers, which is only so
// that it can tell how many records wait.
const gateMemory = 10_000

func targetGate(target string) string { return "target " + target }

func aggregateGate(aggregate string) string { return "aggregate " + aggregate }

func freezeGate(aggregateID string) string { return "freeze " + aggregateID }

// shutGate shuts a gate before a target, from a place on.
func (f *Feed) shutGate(target string, from Position) *Gate {
	g := &Gate{feed: f, target: target, from: from.commit(), last: from, passes: make(map[*Record]struct{})}
	f.gates[targetGate(target)] = g
	return g
}

// bringsBack has r, which leaves memory, brought back by the gates of its targets.
// One that has none gets a gate that is open already, as younger records in memory
// must not overtake it. A nil feed brings nothing.
func (f *Feed) bringsBack(r *Record) {
	if f == nil {
		return
	}
	for _, key := range []string{freezeGate(r.AggregateID), aggregateGate(r.Aggregate)} {
		if g := f.gates[key]; g != nil {
			g.leave(r)
			return
		}
	}
	if len(r.Targets) == 0 {
		f.rewind(r.Position())
		return
	}
	for _, t := range r.Targets {
		g := f.gates[targetGate(t)]
		if g == nil {
			g = f.shutGate(t, r.Position())
		}
		g.leave(r)
		f.probe(g)
	}
}

// leaveAt leaves r behind the aggregate's gate of that key, which it closes
// if need be.
func (f *Feed) leaveAt(key string, r *Record) *Gate {
	g := f.gates[key]
	if g == nil {
		g = &Gate{feed: f, from: r.Position(), frozen: key == freezeGate(r.AggregateID)}
		f.gates[key] = g
	}
	g.leave(r)
	return g
}

func (g *Gate) leave(r *Record) {
	p := r.Position()
	if g.last.Before(p) {
		g.last = p
	}
	switch begin := (Position{At: p.At}); {
	case g.paging:
		if g.meanwhile.Zero() || begin.Before(g.meanwhile) {
			g.meanwhile = begin
		}
	case !g.from.Before(p):
		g.from = begin
	}
	delete(g.passes, r)
	if g.left == nil {
		g.left, g.oldest = make(map[string]struct{}), r.Version
	}
	g.oldest = min(g.oldest, r.Version)
	if len(g.left) < gateMemory {
		g.left[r.ID] = struct{}{}
	} else if _, known := g.left[r.ID]; !known {
		g.more++
	}
}

// shut ends the draining of a gate whose target is out again. The next begins
// with half of what this one had come to.
func (g *Gate) shut() {
	if g.draining {
		g.draining, g.size = false, g.size/2
	}
}

func (g *Gate) passed(r *Record) bool {
	_, ok := g.passes[r]
	return ok
}

// pass lets r, which is in memory, go to the target.
func (g *Gate) pass(r *Record) {
	g.passes[r] = struct{}{}
	delete(g.left, r.ID)
}

// yields gives r a pass if a younger record of its aggregate has one, which may
// have met the gate first: r has to get through before that. It reports whether r
// has a pass now.
func (g *Gate) yields(r *Record) bool {
	for h := range g.passes {
		if h.Aggregate == r.Aggregate && r.olderThan(h) {
			g.pass(r)
			return true
		}
	}
	return false
}

func (g *Gate) count() int { return len(g.left) + g.more }

// gotThrough opens the target's gate if r has a pass: the target answers.
func (f *Feed) gotThrough(target string, r *Record) {
	if g := f.gates[targetGate(target)]; g != nil && g.passed(r) {
		delete(g.passes, r)
		f.open(targetGate(target))
	}
}

// open opens the gate of that key: an aggregate's at once, a target's slowly.
func (f *Feed) open(key string) {
	g := f.gates[key]
	switch {
	case g == nil:
	case g.target == "":
		delete(f.gates, key)
		if g.count() > 0 {
			f.rewind(g.from)
		}
	default:
		g.draining = true
		f.dismiss(g)
		f.machine.do(Action{Do: DrainOn, Feed: f})
	}
}

// refusedBy notes that a lane refused some of the aggregate.
func (g *Gate) refusedBy(lane contracts.Lane) {
	if !slices.Contains(g.refusing, lane) {
		g.refusing = append(g.refusing, lane)
	}
}

// idle hears that a lane which refused some of an aggregate has none of it left.
func (m *Machine) idle(e Idle) {
	for _, f := range m.feeds {
		if g := f.gates[aggregateGate(e.Aggregate)]; g != nil && slices.Contains(g.refusing, e.Lane) {
			g.refusing = slices.DeleteFunc(g.refusing, func(lane contracts.Lane) bool { return lane == e.Lane })
			f.reopen(e.Aggregate, g)
		}
	}
}

// reopen opens an aggregate's gate if nothing keeps it shut. Those in memory that are
// younger than what is behind it wait until the feed has read that: they may run in
// another lane, or have lingered.
func (f *Feed) reopen(aggregate string, g *Gate) {
	if g.lingering || len(g.refusing) > 0 {
		return
	}
	for _, r := range f.machine.held {
		if r.Aggregate == aggregate && r.feed() == f && g.count() > 0 && g.oldest < r.Version {
			r.ahead = true
		}
	}
	f.open(aggregateGate(aggregate))
}

// dismiss removes a target's gate that is open and has nothing left behind it,
// once no record with a pass waits for the target: it may be out again.
func (f *Feed) dismiss(g *Gate) {
	if !g.draining || g.paging || !g.emptied() || g.waits() {
		return
	}
	if key := targetGate(g.target); f.gates[key] == g {
		delete(f.gates, key)
	}
}

// emptied reports whether all that was left behind a target's gate has been
// brought back.
func (g *Gate) emptied() bool { return g.count() == 0 || !g.from.Before(g.last) }

// probe has a target's gate opened when nobody would probe for those behind
// it.
func (f *Feed) probe(g *Gate) {
	if len(g.passes) == 0 && !g.draining {
		f.open(targetGate(g.target))
	}
}

// gone forgets the passes of a record that has left memory.
func (f *Feed) gone(r *Record) {
	for _, g := range f.gates {
		if g.passed(r) {
			delete(g.passes, r)
			f.probe(g)
			f.dismiss(g)
		}
	}
}

// goesOn takes in that a record may wait for no target any more.
func (f *Feed) goesOn(r *Record) {
	for _, g := range f.gates {
		if g.passed(r) {
			f.dismiss(g)
		}
	}
}
