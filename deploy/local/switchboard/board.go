package switchboard

import (
	"slices"
	"sync"
)

// Board holds the faults that are on, which may be added and removed at any time;
// of several that match a call, the oldest that hits decides. Its zero value is
// ready. Safe for concurrent use.
type Board[F any] struct {
	// Over tells what is on no more and goes by itself; nil: nothing does.
	Over func(*Active[F]) bool

	mu     sync.Mutex
	lastID int
	active []*Active[F]
}

// Active is a fault that is switched on, and the calls that it met and hit so far.
type Active[F any] struct {
	ID    int
	Fault F
	Tally
}

// Add switches a fault on and returns its ID. tally chooses the calls that it hits.
func (b *Board[F]) Add(fault F, tally Tally) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastID++
	b.active = append(b.active, &Active[F]{b.lastID, fault, tally})
	return b.lastID
}

// Remove switches a fault off and reports whether it was on.
func (b *Board[F]) Remove(id int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tidy()
	before := len(b.active)
	b.active = slices.DeleteFunc(b.active, func(a *Active[F]) bool { return a.ID == id })
	return len(b.active) < before
}

// Clear switches all faults off.
func (b *Board[F]) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active = nil
}

// List returns the faults that are on, oldest first.
func (b *Board[F]) List() []Active[F] {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tidy()
	list := make([]Active[F], len(b.active))
	for i, a := range b.active {
		list[i] = *a
	}
	return list
}

// Strike returns the fault that a call is to suffer; false: none.
func (b *Board[F]) Strike(matches func(F) bool) (fault F, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tidy()
	for _, a := range b.active {
		if matches(a.Fault) && a.Strikes() {
			return a.Fault, true
		}
	}
	return fault, false
}

func (b *Board[F]) tidy() {
	if b.Over != nil {
		b.active = slices.DeleteFunc(b.active, b.Over)
	}
}
