package feed

import "fmt"

// Standing is how an aggregate stands with the freezes.
type Standing int

const (
	// Free: its records flow.
	Free Standing = iota
	// Dying: a dead letter that freezes it is on its way to Firestore. Its records
	// wait in their lane.
	Dying
	// Frozen: its records become held.
	Frozen
	// Releasing: held records are being put back to pending. All of its records stay
	// in Firestore, so that they can be read in order at the end.
	Releasing
	// Thawing: the freeze is gone, and this outbox is about to read the aggregate's
	// records from the oldest. They stay in Firestore until then.
	Thawing
)

func (s Standing) String() string {
	switch s {
	case Free:
		return "free"
	case Dying:
		return "dying"
	case Frozen:
		return "frozen"
	case Releasing:
		return "releasing"
	case Thawing:
		return "thawing"
	}
	return fmt.Sprintf("standing(%d)", int(s))
}

// shut reports whether the aggregate's records have to stay out of memory.
func (s Standing) shut() bool { return s == Releasing || s == Thawing }

// Standing returns how an aggregate stands.
func (m *Machine) Standing(aggregateID string) Standing { return m.standings[aggregateID] }

// stands changes how an aggregate stands. What waited behind its freeze gates and
// may be held now is read again.
func (m *Machine) stands(aggregateID string, s Standing) {
	if s == Free {
		delete(m.standings, aggregateID)
	} else {
		m.standings[aggregateID] = s
	}
	if s.shut() {
		return
	}
	for _, f := range m.feeds {
		f.open(freezeGate(aggregateID))
	}
}

// thawed ends an aggregate's thawing: its gates open and the feeds go back to its
// oldest records, in one step.
func (m *Machine) thawed(e Thawed) {
	m.stands(e.AggregateID, e.Standing)
	for f, p := range e.Oldest {
		f.rewind(p)
	}
}
