package relay

import "time"

// gate holds back the records of one target whose breaker is open, or of one
// aggregate: one that has too many behind a failing head, or whose freeze is
// being released. They stay pending in Firestore, out of memory.
type gate struct {
	target string              // "" for an aggregate's gate
	from   Position            // the oldest that was left behind
	holder *entry              // kept in memory to probe the target; nil for an aggregate's gate
	left   map[string]struct{} // document IDs left behind, up to gateMemory
	more   int                 // left behind beyond those; one may be counted twice
}

// gateMemory bounds the document IDs that a gate remembers, which is only so
// that it can tell how many records wait.
const gateMemory = 10_000

func targetGate(target string) string { return "target " + target }

func aggregateGate(aggregate string) string { return "aggregate " + aggregate }

func freezeGate(aggregateID string) string { return "freeze " + aggregateID }

// parking is what becomes of a record that has nothing left to do now but wait
// for targets.
type parking int

const (
	parkHold  parking = iota // it stays as the probe of its gate
	parkAgain                // a gate opened in the meantime: deliver again
	parkRest                 // it stays until the feed has read past it once more, or an older one has left
	parkLeave                // it has left memory; the feed comes back to it
	parkSave                 // it leaves memory once its progress is written, see hasLeft
)

// park decides about a record whose remaining targets cannot be reached now:
// blocked were refused by their breakers, gated by this feed. unsaved says
// that Firestore must be told something before the record can leave.
func (f *feed) park(e *entry, blocked, gated []string, unsaved bool) parking {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	hold, again, rest := false, false, false
	for _, t := range blocked {
		key := targetGate(t)
		g := f.gates[key]
		if g == nil {
			g = &gate{target: t, from: e.position(), holder: e}
			f.gates[key] = g
		}
		if g.holder == e {
			hold = true
		} else {
			g.leave(e)
		}
	}
	for _, t := range gated {
		switch g := f.gates[targetGate(t)]; {
		case g != nil:
			g.leave(e)
		case f.ledger.overtakesLocked(e):
			rest = true
		case !f.reopened[t] || !f.aheadLocked(e):
			again = true
		case f.reach.covers(e.position()):
			rest = true // the reader is just at it and counts on its being here
		}
	}
	switch {
	case hold:
		return parkHold
	case again:
		return parkAgain
	case rest:
		return parkRest
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
// time at. A gate that opened meanwhile sends the feed back to it.
func (f *feed) hasLeft(e *entry, at time.Time) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	f.returnLocked(e)
	f.ledger.removeLocked(e, at)
	close(e.left)
}

// returnLocked sends the feed back to e, which is leaving memory, unless gates
// stand before it: then it is left behind them, as they may have closed after it
// began to leave. A nil feed brings nothing.
func (f *feed) returnLocked(e *entry) {
	if f == nil {
		return
	}
	if g := f.gates[freezeGate(e.rec.AggregateID)]; g != nil {
		g.leave(e)
		return
	}
	again := false
	for _, t := range e.missing() {
		if g := f.gates[targetGate(t)]; g != nil {
			g.leave(e)
			continue
		}
		f.reopened[t] = true // younger ones in memory wait for it there
		again = true
	}
	if again {
		f.rewindLocked(e.position())
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

// leaveAtLocked leaves e behind the gate of that key, which it closes if need be.
func (f *feed) leaveAtLocked(key string, e *entry) {
	g := f.gates[key]
	if g == nil {
		g = &gate{from: e.position()}
		f.gates[key] = g
	}
	g.leave(e)
}

func (g *gate) leave(e *entry) {
	if p := e.position(); p.before(g.from) {
		g.from = p
	}
	if g.left == nil {
		g.left = make(map[string]struct{})
	}
	if len(g.left) < gateMemory {
		g.left[e.doc.ID] = struct{}{}
	} else if _, known := g.left[e.doc.ID]; !known {
		g.more++
	}
}

// yields makes e the probe of its target if the one until now is a younger record
// of its aggregate, which may have met the gate first: e has to get through
// before that. It reports whether it is.
func (g *gate) yields(e *entry) bool {
	h := g.holder
	if h == nil || h.task.Aggregate != e.task.Aggregate || h.rec.AggregateVersion <= e.rec.AggregateVersion {
		return false
	}
	g.holder = e
	if p := e.position(); p.before(g.from) {
		g.from = p
	}
	return true
}

func (g *gate) count() int { return len(g.left) + g.more }

// open removes a gate and sends the feed back to the oldest record behind it.
func (f *feed) open(key string) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	f.openLocked(key)
}

// openHeld opens the target's gate if e is its holder: e got through.
func (f *feed) openHeld(target string, e *entry) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	if g := f.gates[targetGate(target)]; g != nil && g.holder == e {
		f.openLocked(targetGate(target))
	}
}

func (f *feed) openLocked(key string) {
	g := f.gates[key]
	if g == nil {
		return
	}
	delete(f.gates, key)
	if g.count() == 0 {
		return
	}
	if g.target != "" {
		f.reopened[g.target] = true
	}
	f.rewindLocked(g.from)
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
