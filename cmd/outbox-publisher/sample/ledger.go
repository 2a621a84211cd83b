// Package sample has producers and a consumer for a try of the publisher: shops that take orders,
// some of which are rolled back, and a consumer that acts on each event once. What they did is judged.
package sample

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// Ledger keeps what producers and the consumer did. Safe for concurrent use.
type Ledger struct {
	mu         sync.Mutex
	committed  int
	rolledBack map[uuid.UUID]bool
	effects    map[uuid.UUID]int
	first      map[uuid.UUID][]uuid.UUID // by aggregate: events in the order in which they were handled first
	last       time.Time                 // when an effect happened
}

// NewLedger returns an empty one.
func NewLedger() *Ledger {
	return &Ledger{rolledBack: map[uuid.UUID]bool{}, effects: map[uuid.UUID]int{}, first: map[uuid.UUID][]uuid.UUID{}}
}

func (l *Ledger) commits() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.committed++
}

func (l *Ledger) rollsBack(id uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rolledBack[id] = true
}

// happened is an effect of an event.
func (l *Ledger) happened(aggregate, id uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.effects[id]++; l.effects[id] == 1 {
		l.first[aggregate] = append(l.first[aggregate], id)
	}
	l.last = time.Now()
}

// Figures are the counts so far.
type Figures struct {
	Committed  int // events
	RolledBack int
	Handled    int // different events
	Lost       int // committed, and not handled
	OutOfOrder int // handled before an older one of their aggregate
	TwoEffects int // handled more than once
	Ghosts     int // handled, though nobody committed them
}

// Kept reports whether the promise was kept.
func (f Figures) Kept() bool {
	return f.Lost == 0 && f.OutOfOrder == 0 && f.TwoEffects == 0 && f.Ghosts == 0
}

// Figures counts, without a judgement of order and losses.
func (l *Ledger) Figures() Figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Figures{Committed: l.committed, RolledBack: len(l.rolledBack), Handled: len(l.effects)}
}

// Judge holds what was handled to the table: the events of each aggregate, in their order.
func (l *Ledger) Judge(table map[uuid.UUID][]uuid.UUID) Figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := Figures{RolledBack: len(l.rolledBack), Handled: len(l.effects)}
	there := map[uuid.UUID]bool{}
	for aggregate, ids := range table {
		place := map[uuid.UUID]int{}
		for i, id := range ids {
			f.Committed++
			there[id], place[id] = true, i
			if l.effects[id] == 0 {
				f.Lost++
			}
		}
		highest := -1
		for _, id := range l.first[aggregate] {
			if i, ok := place[id]; ok && i < highest {
				f.OutOfOrder++
			} else if ok {
				highest = i
			}
		}
	}
	for id, n := range l.effects {
		if n > 1 {
			f.TwoEffects++
		}
		if !there[id] {
			f.Ghosts++
		}
	}
	return f
}
