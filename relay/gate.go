package relay

import "time"

// gate holds back the records of one target whose breaker is open, or of one
// aggregate: one that has too many behind a failing head, or whose freeze is
// being released. They stay pending in Firestore, out of memory.
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
type gate struct {
	target string // "" for an aggregate's gate
	// from is where what was left behind begins; for a target's gate the place
	// after which it is read back, which moves on with each page.
	from Position
	last Position            // the youngest that was left behind; a target's gate only
	left map[string]struct{} // document IDs left behind, up to gateMemory
	more int                 // left behind beyond those; one may be counted twice

	// Of a target's gate.
	passes   map[*entry]struct{} // records in memory that may go to the target
	draining bool                // the target answers: what is left behind is brought back
	another  bool                // the target is out, or its probes fail for themselves: bring a few more
	paging   bool                // a page is being brought back
	back     Position            // the oldest that was left behind meanwhile
	size     int                 // documents of the next page; 0: the least
}

// gateMemory bounds the document IDs that a gate remembers, which is only so
// that it can tell how many records wait.
const gateMemory = 10_000

func targetGate(target string) string { return "target " + target }

func aggregateGate(aggregate string) string { return "aggregate " + aggregate }

func freezeGate(aggregateID string) string { return "freeze " + aggregateID }

func newTargetGate(target string, from Position) *gate {
	return &gate{target: target, from: Position{At: from.At}, last: from, passes: make(map[*entry]struct{})}
}

// parking is what becomes of a record that has nothing left to do now but wait
// for targets.
type parking int

const (
	parkHold  parking = iota // it stays, and probes the target
	parkAgain                // a gate opened in the meantime: deliver again
	parkRest                 // it stays until an older one of its aggregate has left
	parkLeave                // it has left memory; its gate brings it back
	parkSave                 // it leaves memory once its progress is written, see hasLeft
)

// park decides about a record whose remaining targets cannot be reached now:
// blocked were refused by their breakers, gated by this feed, or stand behind an
// older record of its run. unsaved says that Firestore must be told something
// before the record can leave.
func (f *feed) park(e *entry, blocked, gated []string, unsaved bool) parking {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	hold, again, rest := false, false, false
	for _, t := range blocked {
		g := f.gates[targetGate(t)]
		if g == nil {
			g = newTargetGate(t, e.position())
			g.passes[e] = struct{}{}
			f.gates[targetGate(t)] = g
		}
		g.shut()
		if g.passed(e) || g.yields(e) {
			hold = true
		} else {
			g.leave(e)
			f.probeLocked(g)
		}
	}
	for _, t := range gated {
		g := f.gates[targetGate(t)]
		switch {
		case f.ledger.overtakesLocked(e) && (g == nil || g.passed(e)):
			rest = true
		case g == nil, (g.passed(e) || g.yields(e)) && g.draining:
			again = true
		case g.passed(e):
			hold = true
		case g.draining && !g.paging && e.doc.CreatedAt.Before(g.from.At) && !f.ledger.overtakesLocked(e):
			g.pass(e) // all older that was left there is back
			again = true
		default:
			g.leave(e)
		}
	}
	switch {
	case rest:
		return parkRest
	case hold:
		return parkHold
	case again:
		return parkAgain
	case unsaved:
		f.ledger.leavingLocked(e)
		return parkSave
	}
	f.ledger.removeLocked(e, time.Time{})
	return parkLeave
}

// leaves makes e, which is in its lane, one that leaves memory once its
// progress is written. It reports false when e is on another way.
func (f *feed) leaves(e *entry) bool {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	if e.stage != stageLane {
		return false
	}
	f.ledger.leavingLocked(e)
	return true
}

// hasLeft takes e out of memory after its progress was written at the server's
// time at. The gates before it bring it back.
func (f *feed) hasLeft(e *entry, at time.Time) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	f.returnLocked(e)
	f.ledger.removeLocked(e, at)
	close(e.left)
}

// returnLocked has e, which is leaving memory, brought back by the gates of its
// targets. One that has none gets a gate that is open already, as younger records
// in memory must not overtake it. A nil feed brings nothing.
func (f *feed) returnLocked(e *entry) {
	if f == nil {
		return
	}
	if g := f.gates[freezeGate(e.rec.AggregateID)]; g != nil {
		g.leave(e)
		return
	}
	if e.route == nil {
		f.rewindLocked(e.position())
		return
	}
	for _, t := range e.missing() {
		g := f.gates[targetGate(t)]
		if g == nil {
			g = newTargetGate(t, e.position())
			f.gates[targetGate(t)] = g
		}
		g.leave(e)
		f.probeLocked(g)
	}
}

// leaveAggregate closes the gate of e's aggregate and leaves e, which was
// admitted, behind it.
func (f *feed) leaveAggregate(e *entry) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	f.leaveAtLocked(aggregateGate(e.task.Aggregate), e)
	f.ledger.removeLocked(e, time.Time{})
}

// leaveAtLocked leaves e behind the aggregate's gate of that key, which it closes
// if need be.
func (f *feed) leaveAtLocked(key string, e *entry) {
	g := f.gates[key]
	if g == nil {
		g = &gate{from: e.position()}
		f.gates[key] = g
	}
	g.leave(e)
}

func (g *gate) leave(e *entry) {
	p := e.position()
	if g.last.before(p) {
		g.last = p
	}
	switch begin := (Position{At: p.At}); {
	case g.paging:
		if g.back.Zero() || begin.before(g.back) {
			g.back = begin
		}
	case !g.from.before(p):
		g.from = begin
	}
	delete(g.passes, e)
	if g.left == nil {
		g.left = make(map[string]struct{})
	}
	if len(g.left) < gateMemory {
		g.left[e.doc.ID] = struct{}{}
	} else if _, known := g.left[e.doc.ID]; !known {
		g.more++
	}
}

// shut ends the draining of a gate whose target is out again. The next begins
// with half of what this one had come to.
func (g *gate) shut() {
	if g.draining {
		g.draining, g.size = false, g.size/2
	}
}

func (g *gate) passed(e *entry) bool {
	_, ok := g.passes[e]
	return ok
}

// pass lets e, which is in memory, go to the target.
func (g *gate) pass(e *entry) {
	g.passes[e] = struct{}{}
	delete(g.left, e.doc.ID)
}

// yields gives e a pass if a younger record of its aggregate has one, which may
// have met the gate first: e has to get through before that. It reports whether e
// has a pass now.
func (g *gate) yields(e *entry) bool {
	for h := range g.passes {
		if h.task.Aggregate == e.task.Aggregate && h.rec.AggregateVersion > e.rec.AggregateVersion {
			g.pass(e)
			return true
		}
	}
	return false
}

func (g *gate) count() int { return len(g.left) + g.more }

// open opens the gate of that key: an aggregate's at once, a target's slowly.
func (f *feed) open(key string) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	f.openLocked(key)
}

// gotThrough opens the target's gate if e has a pass: the target answers.
func (f *feed) gotThrough(target string, e *entry) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	if g := f.gates[targetGate(target)]; g != nil && g.passed(e) {
		delete(g.passes, e)
		f.openLocked(targetGate(target))
	}
}

func (f *feed) openLocked(key string) {
	g := f.gates[key]
	switch {
	case g == nil:
	case g.target == "":
		delete(f.gates, key)
		if g.count() > 0 {
			f.rewindLocked(g.from)
		}
	default:
		g.draining = true
		f.endLocked(g)
		signal(f.drains)
	}
}

// endLocked removes a target's gate that is open and has nothing left behind it,
// once no record with a pass waits for the target: it may be out again.
func (f *feed) endLocked(g *gate) {
	if !g.draining || g.paging || !g.emptied() || g.waits() {
		return
	}
	if key := targetGate(g.target); f.gates[key] == g {
		delete(f.gates, key)
	}
}

// emptied reports whether all that was left behind a target's gate has been
// brought back.
func (g *gate) emptied() bool { return g.count() == 0 || !g.from.before(g.last) }

// probeLocked has a target's gate opened when nobody would probe for those behind
// it.
func (f *feed) probeLocked(g *gate) {
	if len(g.passes) == 0 && !g.draining {
		f.openLocked(targetGate(g.target))
	}
}

// goneLocked forgets the passes of a record that has left memory.
func (f *feed) goneLocked(e *entry) {
	for _, g := range f.gates {
		if g.passed(e) {
			delete(g.passes, e)
			f.probeLocked(g)
			f.endLocked(g)
		}
	}
}

// goesOnLocked takes in that a record may wait for no target any more.
func (f *feed) goesOnLocked(e *entry) {
	for _, g := range f.gates {
		if g.passed(e) {
			f.endLocked(g)
		}
	}
}

// clog returns how many pending records stand at the head of the lane without
// being new: under way, or left behind gates.
func (f *feed) clog() int {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	return f.running + f.resting + f.leftBehindLocked()
}

func (f *feed) leftBehindLocked() int {
	n := 0
	for _, g := range f.gates {
		n += g.count()
	}
	return n
}

// leftBehind returns how many records stand behind gates.
func (f *feed) leftBehind() int {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	return f.leftBehindLocked()
}
