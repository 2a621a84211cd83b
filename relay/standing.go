package relay

import (
	"fmt"
)

// standing is how an aggregate stands with the freezes. Each outbox's ledger
// keeps its own, so that admitting a record and letting an aggregate go on are
// one step each.
type standing int

const (
	// standFree: its records flow.
	standFree standing = iota
	// standDying: a dead letter that freezes it is on its way to Firestore. Its
	// records wait in their lane.
	standDying
	// standFrozen: its records become held.
	standFrozen
	// standReleasing: held records are being put back to pending. All of its
	// records stay in Firestore, so that they can be read in order at the end.
	standReleasing
	// standThawing: the freeze is gone, and this outbox is about to read the
	// aggregate's records from the oldest. They stay in Firestore until then.
	standThawing
)

func (s standing) String() string {
	switch s {
	case standFree:
		return "free"
	case standDying:
		return "dying"
	case standFrozen:
		return "frozen"
	case standReleasing:
		return "releasing"
	case standThawing:
		return "thawing"
	}
	return fmt.Sprintf("standing(%d)", int(s))
}

// shut reports whether the aggregate's records have to stay out of memory.
func (s standing) shut() bool { return s == standReleasing || s == standThawing }

// standing returns how an aggregate stands.
func (l *ledger) standing(aggregateID string) standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.standings[aggregateID]
}

// stand changes how an aggregate stands. What waited behind its freeze gates
// and may be held now is read again.
func (l *ledger) stand(aggregateID string, s standing, feeds []*feed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.standLocked(aggregateID, s, feeds)
}

func (l *ledger) standLocked(aggregateID string, s standing, feeds []*feed) {
	if s == standFree {
		delete(l.standings, aggregateID)
	} else {
		l.standings[aggregateID] = s
	}
	if s.shut() {
		return
	}
	for _, f := range feeds {
		f.openLocked(freezeGate(aggregateID))
	}
}

// holds reports whether any record of an aggregate is in memory. It walks all
// that is.
func (l *ledger) holds(aggregateID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.held {
		if e.rec.AggregateID == aggregateID {
			return true
		}
	}
	return false
}
