package relay

import (
	"context"

	"outboxrelay/contracts"
)

// feed is the ledger's page for one lane of an outbox: how far its records
// have been read, and which were left in Firestore on purpose. All fields are
// guarded by the ledger's lock.
type feed struct {
	ledger   *ledger
	lane     contracts.Lane // of the query; a record may run in another, see contracts.Catalog.Check
	capacity int            // records running at most
	memory   *memory        // of its lane, shared with other outboxes
	usage    usage          // of memory; guarded by it
	ended    bool           // its share was given back; guarded by memory
	portion  portion
	running  int
	resting  int           // waiting for a retry
	room     chan struct{} // a token when there may be room again

	cursor     Position // every pending record up to here has been considered
	live       bool     // a listener sees what comes
	through    bool     // pages came to their end, and all that is not fresh was considered
	generation int      // counts the rewinds
	rewound    chan struct{}
	gates      map[string]*gate
	drains     chan struct{} // a token when there may be something to drain
}

// restingFactor bounds the records that wait for retries, as a multiple of a
// feed's capacity. Beyond it the feed stops reading.
const restingFactor = 4

func newFeed(l *ledger, lane contracts.Lane, capacity int, m *memory) *feed {
	return &feed{
		ledger: l, lane: lane, capacity: capacity, memory: m,
		room: make(chan struct{}, 1), rewound: make(chan struct{}, 1), gates: make(map[string]*gate),
		drains: make(chan struct{}, 1),
	}
}

// waitRoom blocks until the feed may take one more record.
func (f *feed) waitRoom(ctx context.Context) error {
	for waited := false; ; waited = true {
		f.ledger.mu.Lock()
		ok := f.running < f.capacity && f.running+f.resting < restingFactor*f.capacity && f.memory.room(f)
		f.ledger.mu.Unlock()
		if ok {
			if waited {
				signal(f.room) // for whoever waits too
			}
			return nil
		}
		select {
		case <-f.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// roomLocked tells that there may be room again.
func (f *feed) roomLocked() {
	signal(f.room)
	if len(f.gates) > 0 {
		signal(f.drains)
	}
}

// pageLimit and windowLimit return how many documents a page, and the window of a
// listener, may hold, most at most: a quarter of the lane's memory, and as much as
// that. A page is there for a moment, a window for as long as its listener, and
// the records on their way are in it.
func (f *feed) pageLimit(most int) int   { return f.portion.page(most, f.memory.limit/4) }
func (f *feed) windowLimit(most int) int { return f.portion.window(most, f.memory.limit) }

// start returns where to read on, and the generation to which what is read
// there belongs.
func (f *feed) start() (Position, int) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	return f.cursor, f.generation
}

// read records that everything up to p has been considered.
func (f *feed) read(p Position, generation int) bool {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	if f.generation != generation {
		return false
	}
	if f.cursor.before(p) {
		f.cursor = p
	}
	return true
}

// setThrough tells that pages came to their end, and all of them were considered.
func (f *feed) setThrough(generation int) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	f.through = f.through || f.generation == generation
}

// setLive tells that a listener's window shows all that is pending, and that
// all of it was considered. It reports false when the feed was rewound in the
// meantime.
func (f *feed) setLive(generation int) bool {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	if f.generation != generation {
		return false
	}
	f.live = true
	return true
}

// admission is what became of a record that a feed read.
type admission int

const (
	admitted admission = iota // in memory, to be submitted to its lane
	known                     // in memory before
	deferred                  // left in Firestore behind a gate
	outdated                  // the feed was rewound since this was read: read again from its cursor
	early                     // an older record of its aggregate is leaving memory: see afterLeaving
)

// admit takes a record into memory, or leaves it behind a closed gate.
func (f *feed) admit(e *entry, generation int) admission {
	l := f.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.generation != generation {
		return outdated
	}
	if _, ok := l.held[e.doc.ID]; ok {
		return known
	}
	if l.settled.consider(e.doc, f) == considerKnown { // it was brought back and settled since it was read
		return known
	}
	if len(l.leaving[e.task.Aggregate]) > 0 {
		return early
	}
	if len(e.faults) > 0 { // to be dead-lettered: nobody can hold it up
		l.admitLocked(e)
		return admitted
	}
	if l.standings[e.rec.AggregateID].shut() {
		f.leaveAtLocked(freezeGate(e.rec.AggregateID), e)
		return deferred
	}
	if g := f.gates[aggregateGate(e.task.Aggregate)]; g != nil {
		g.leave(e)
		return deferred
	}
	if e.route != nil {
		if open, gated := f.splitLocked(e); len(open) == 0 && len(gated) > 0 {
			for _, t := range gated {
				f.gates[targetGate(t)].leave(e)
			}
			signal(f.drains)
			return deferred
		}
	}
	l.admitLocked(e)
	return admitted
}

// afterLeaving returns a channel that is closed when a record has left that e
// must not overtake; nil when there is none any more. It may be one that no query
// for pending records shows before: it is retrying until its progress is written.
func (f *feed) afterLeaving(e *entry) <-chan struct{} {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	if leaving := f.ledger.leaving[e.task.Aggregate]; len(leaving) > 0 {
		return leaving[0].left
	}
	return nil
}

// split divides e's missing targets into those that it may be delivered to now
// and those behind a gate.
func (f *feed) split(e *entry) (open, gated []string) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	return f.splitLocked(e)
}

func (f *feed) splitLocked(e *entry) (open, gated []string) {
	if f.ledger.overtakesLocked(e) {
		return nil, e.missing()
	}
	if len(f.gates) == 0 {
		return e.missing(), nil
	}
	for _, t := range e.missing() {
		if g := f.gates[targetGate(t)]; g != nil && !g.passed(e) && !g.yields(e) {
			gated = append(gated, t)
		} else {
			open = append(open, t)
		}
	}
	return open, gated
}

// rewind sends the feed back so that it reads p again.
func (f *feed) rewind(p Position) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	f.rewindLocked(p)
}

func (f *feed) rewindLocked(p Position) {
	// Before every document of that time: one commit's records share it.
	p.ID = ""
	if p.before(f.cursor) {
		f.cursor = p
	}
	f.live, f.through = false, false
	f.generation++
	signal(f.rewound)
}
