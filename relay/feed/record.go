package feed

import (
	"slices"
	"time"
)

// Record is a record in memory, from its admission to the commit that settles it.
// Whoever read it fills in the upper part and leaves it alone from the admission
// on; the rest is the machine's.
type Record struct {
	Sight
	Origin      Origin
	Home        *Feed  // that would bring it again; nil: none would
	Aggregate   string // the key of its order: the outbox and the aggregate ID
	AggregateID string // by which it is frozen
	Version     int64
	Faulty      bool  // it breaks the contract, and is about to be dead-lettered: nobody holds it up
	Retrying    bool  // it was in backoff when it was read: it has to become pending before it leaves
	Size        int64 // about what it takes up, in bytes
	Owner       any   // of the record in the shell

	// Targets are those that have not acknowledged it; none of a faulty one.
	Targets []string

	stage   stage
	queued  bool        // it had no turn in its lane yet
	ahead   bool        // older ones of its aggregate may not have been read yet
	resting bool        // it waits for a retry
	awaits  bool        // ... that costs no attempt: a target is out, or failed as if it were
	changed time.Time   // of the document: when it was changed last, as last read or written
	lingers bool        // it leaves, and its progress is not written for long
	writing bool        // a settlement of it is on its way
	next    *Settlement // waits for that one
	burying bool        // its dead letter is on its way: younger ones of its aggregate wait
}

// Origin is how a record came to be read.
type Origin int

const (
	// Read: its feed's pages or listener brought it. It takes up the feed's room and
	// heeds its gates.
	Read Origin = iota
	// Searched: it was looked for, as it is in backoff. Its feed, past whose room it
	// comes, may not have read the older ones of its aggregate yet; it heeds the
	// feed's gates.
	Searched
	// Stray: no feed brings records such as this one. It takes up no feed's room and
	// heeds no gate.
	Stray
)

// stage is the way that a record in memory is on.
type stage int

const (
	stageLane     stage = iota // queued, in delivery or in backoff
	stageSettling              // its end is being written
	stageLeaving               // deferred with unsaved progress: it leaves memory once that is written
	stageEnded                 // settled by somebody else while in its lane, which drops it
)

// feed is the feed whose gates r heeds; nil: it heeds none.
func (r *Record) feed() *Feed {
	if r.Origin == Stray {
		return nil
	}
	return r.Home
}

// takesRoom reports whether r counts for what its feed may have in memory.
func (r *Record) takesRoom() bool { return r.Origin == Read }

// Waits reports whether r, which is in memory, is still to be delivered: it is not
// settled, and not about to be.
func (r *Record) Waits() bool { return r.stage != stageSettling && !r.Over() }

// Over reports whether r, which is in memory, was settled by somebody else: nothing is
// to be written of it.
func (r *Record) Over() bool { return r.stage == stageEnded }

// acked notes the targets that have it now.
func (r *Record) acked(targets []string) {
	r.Targets = slices.DeleteFunc(r.Targets, func(t string) bool { return slices.Contains(targets, t) })
}

// olderThan reports whether r stands before s in the order of their aggregate.
func (r *Record) olderThan(s *Record) bool { return r.Version < s.Version }
