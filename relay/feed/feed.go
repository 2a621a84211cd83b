package feed

import (
	"slices"

	"outboxrelay/contracts"
)

// Feed is what a machine knows of one lane of its outbox: how far its records have
// been read, and which were left in Firestore on purpose.
type Feed struct {
	Lane  contracts.Lane // of the query; a record may run in another, see contracts.Catalog.Check
	Owner any            // of the feed in the shell

	machine  *Machine
	capacity int // records running at most
	memory   Memory
	portion  portion
	running  int
	resting  int // waiting for a retry

	cursor     Position // every pending record up to here has been considered
	live       bool     // a listener sees what comes
	through    bool     // pages came to their end, and all that is not fresh was considered
	waiting    *Batch   // waits for room, all that came before in it is in its lane; nil: none does
	generation int      // counts how often it was sent back
	again      Position // of the oldest that it was sent back for and has not come to again
	reached    Position // how far it had come before it was sent back; zero: it has come there again
	gates      map[string]*Gate
}

// Memory is a feed's part of what all outboxes of its lane may have in memory. It
// never calls back.
type Memory interface {
	// Limit is how much the lane may have, in bytes.
	Limit() int64
	// Room reports whether the feed may take one more record. If not, whoever waits
	// for room is told once it may.
	Room() bool
	// Use notes that the feed's records take up so many bytes more: those that run,
	// and those that wait for a retry.
	Use(running, resting int64)
}

// RestingFactor bounds the records that wait for retries, as a multiple of what
// may run. Beyond it a feed takes no more.
const RestingFactor = 4

// AddFeed adds a feed that may have capacity records running.
func (m *Machine) AddFeed(lane contracts.Lane, capacity int, memory Memory) *Feed {
	f := &Feed{Lane: lane, machine: m, capacity: capacity, memory: memory, gates: make(map[string]*Gate)}
	m.feeds = append(m.feeds, f)
	return f
}

// Room reports whether the feed may take one more record.
func (f *Feed) Room() bool {
	return f.running < f.capacity && f.running+f.resting < RestingFactor*f.capacity && f.memory.Room()
}

// Short reports whether most of the feed's room is taken.
func (f *Feed) Short() bool { return 4*f.running >= 3*f.capacity || !f.memory.Room() }

// PageLimit returns how many documents a page may hold, most at most, before any of
// them is known: as many as take up pageBytes.
func (f *Feed) PageLimit(most int) int { return f.portion.page(most, f.pageBytes()) }

// PageBounds is PageLimit for a page that ends after so many bytes whatever its limit:
// that need not be small before the first size is known.
func (f *Feed) PageBounds(most int) (limit int, bytes int64) {
	if f.portion.typical == 0 {
		return most, f.pageBytes()
	}
	return f.PageLimit(most), f.pageBytes()
}

// pageBytes is an eighth of the lane's memory: a page is there for a moment, and those
// of a lane's outboxes are at once.
func (f *Feed) pageBytes() int64 { return f.memory.Limit() / 8 }

// WindowLimit returns how many documents the window of a listener may hold, most at
// most: as much as the lane's memory. It is there for as long as its listener, and
// the records on their way are in it.
func (f *Feed) WindowLimit(most int) int { return f.portion.window(most, f.memory.Limit()) }

// WindowBounds is WindowLimit with how many bytes a snapshot of that window may have;
// 0: as many as it has, as a smaller window would not do. It is twice the lane's memory,
// which a window of the typical size does not come near.
func (f *Feed) WindowBounds(most int) (limit int, bytes int64) {
	if limit = f.WindowLimit(most); limit > leastWindow {
		bytes = 2 * f.memory.Limit()
	}
	return limit, bytes
}

// TooMuch reports whether n documents in a window take up more than the lane's
// memory, and a smaller window, most at most, would hold fewer.
func (f *Feed) TooMuch(n, most int) bool {
	return f.portion.fills(n, f.memory.Limit()) && f.WindowLimit(most) < n
}

// Start returns where to read on, and the generation to which what is read there
// belongs.
func (f *Feed) Start() (Position, int) { return f.cursor, f.generation }

// readUpTo is the place up to which the feed has read.
func (f *Feed) readUpTo() Position {
	switch {
	case f.live:
		return EndOfTime
	case f.cursor.ID == "":
		return f.cursor
	}
	return Position{At: f.cursor.At, ID: lastID} // of a whole commit
}

// batch takes in what a page or a snapshot showed.
func (f *Feed) batch(b Batch) Taken {
	f.waiting = nil
	if f.generation != b.Generation {
		return Taken{Stopped: StoppedStale}
	}
	for i, r := range b.Records {
		if !f.Room() {
			b.Records = b.Records[i:]
			f.waiting = &b
			return Taken{Records: i, Stopped: StoppedFull}
		}
		switch older, admitted := f.admit(r); {
		case older != nil:
			return Taken{Records: i, Stopped: StoppedLeaving, Behind: older}
		case admitted:
			return Taken{Records: i + 1, Stopped: StoppedSubmit}
		}
	}
	if f.cursor.Before(b.UpTo) {
		f.cursor = b.UpTo
	}
	f.comesBack(b.Reach)
	if len(f.gates) > 0 {
		f.machine.do(Action{Do: DrainOn, Feed: f})
	}
	f.through = f.through || b.Reach == Through
	f.live = f.live || b.Reach == Live
	return Taken{Records: len(b.Records)}
}

// admit takes a record into memory, or leaves it behind a closed gate. It returns
// the record that has to leave memory before.
func (f *Feed) admit(r *Record) (leavesFirst *Record, admitted bool) {
	m := f.machine
	if m.has(r, f) {
		return nil, false
	}
	if older, left := f.waitsFor(r); older != nil || left {
		return older, false
	}
	switch {
	case r.Faulty:
	case f.leavesBehind(r):
		return nil, false
	default:
		if open, gated := f.split(r); len(open) == 0 && len(gated) > 0 {
			for _, t := range gated {
				f.gates[targetGate(t)].leave(r)
			}
			m.do(Action{Do: DrainOn, Feed: f})
			return nil, false
		}
	}
	m.admit(r)
	m.do(Action{Do: Submit, Record: r})
	return nil, true
}

// leavesBehind leaves a record behind its aggregate's gate, or that of its freeze,
// if one is shut.
func (f *Feed) leavesBehind(r *Record) bool {
	switch key := aggregateGate(r.Aggregate); {
	case f.machine.standings[r.AggregateID].shut():
		f.leaveAt(freezeGate(r.AggregateID), r)
	case f.gates[key] != nil:
		f.gates[key].leave(r)
	default:
		return false
	}
	return true
}

// split divides the targets that r misses into those that it may be delivered to
// now and those behind a gate.
func (f *Feed) split(r *Record) (open, gated []string) {
	if f.machine.overtakes(r) {
		return nil, slices.Clone(r.Targets)
	}
	if len(f.gates) == 0 {
		return slices.Clone(r.Targets), nil
	}
	for _, t := range r.Targets {
		if g := f.gates[targetGate(t)]; g != nil && !g.passed(r) && !g.yields(r) {
			gated = append(gated, t)
		} else {
			open = append(open, t)
		}
	}
	return open, gated
}

// rewind sends the feed back so that it reads p again.
func (f *Feed) rewind(p Position) {
	p = p.commit()
	f.goesBack(p)
	if p.Before(f.cursor) {
		f.cursor = p
	}
	f.live, f.through, f.waiting = false, false, nil
	f.generation++
	f.machine.do(Action{Do: ReadOn, Feed: f})
}

// comesTo reports whether the feed has read past r, so that the older ones of its
// aggregate are in memory, or left behind gates.
func (f *Feed) comesTo(r *Record) bool {
	if f.live || f.through && !r.Fresh() || f.cursor.Covers(r.Position()) {
		return true
	}
	b := f.waiting // for room that may not come before r goes on
	if b == nil || b.Reach != Live && !b.UpTo.Covers(r.Position()) {
		return false
	}
	return !slices.ContainsFunc(b.Records, func(older *Record) bool { return older.Aggregate == r.Aggregate && older.Version < r.Version })
}

// missed has the feed read r again if nobody brings it: it is not in memory, and not
// behind a gate either although the feed has read past it.
func (f *Feed) missed(e Missed) Action {
	r, m := e.Record, f.machine
	if m.held[r.ID] != nil || m.settled.judge(r.Sight, "") == Known || f.waitsForRoom(r) {
		return Action{Do: LetGo}
	}
	if (!f.live || e.Late) && f.cursor.Before(r.Position()) {
		return Action{Do: LetGo} // its reader will come to it
	}
	if !r.Faulty && (f.gates[aggregateGate(r.Aggregate)] != nil || m.standings[r.AggregateID].shut() || m.overtakes(r)) {
		return Action{Do: LetGo}
	}
	again := len(r.Targets) == 0
	for _, t := range r.Targets {
		g := f.gates[targetGate(t)]
		if g == nil {
			again = true
		} else if !r.Faulty && !g.from.Before(r.Position()) { // it was brought back from there, and is gone all the same
			g.leave(r)
			f.probe(g)
			m.do(Action{Do: DrainOn, Feed: f})
		}
	}
	if !again {
		return Action{Do: LetGo}
	}
	f.rewind(r.Position())
	return Action{Do: Reading}
}

// Clog returns how many pending records stand at the head of the lane without
// being new: under way, or left behind gates.
func (f *Feed) Clog() int { return f.running + f.resting + f.LeftBehind() }

// LeftBehind returns how many records stand behind gates.
func (f *Feed) LeftBehind() int {
	n := 0
	for _, g := range f.gates {
		n += g.count()
	}
	return n
}

// Behind is what stands behind one gate.
type Behind struct {
	Target  string   // "" for an aggregate's gate
	Frozen  bool     // it waits for a person
	From    Position // where it begins
	Records int
	Probes  int // records in memory that may go to the target all the same
}

// Behind calls tell with what stands behind each gate.
func (f *Feed) Behind(tell func(Behind)) {
	for _, g := range f.gates {
		tell(Behind{Target: g.target, Frozen: g.frozen, From: g.from, Records: g.count(), Probes: len(g.passes)})
	}
}
