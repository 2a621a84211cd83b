package firestore

import (
	"slices"
	"sort"
)

// What history keeps: enough for a listener that was away for a moment.
const (
	historyChanges = 20_000
	historyBytes   = 32 << 20
)

// history is the recent changes of a database, oldest first. A listener that comes
// back with a token not older than floor is told exactly what it missed.
type history struct {
	floor   micros // everything later is here
	entries []past
	first   int // entries before it were let go
	bytes   int
}

type past struct {
	at micros
	change
}

func (p past) size() int {
	n := 128
	if p.old != nil {
		n += len(p.old.fields)
	}
	return n
}

func (h *history) add(at micros, changes []change) {
	for _, c := range changes {
		p := past{at, c}
		h.bytes += p.size()
		h.entries = append(h.entries, p)
	}
	for len(h.entries)-h.first > historyChanges || h.bytes > historyBytes {
		p := h.entries[h.first]
		h.floor = p.at
		h.bytes -= p.size()
		h.entries[h.first] = past{}
		h.first++
	}
	if h.first > historyChanges {
		h.entries = slices.Clone(h.entries[h.first:])
		h.first = 0
	}
}

// since returns the changes later than at, each document's steps made one; ok is
// false when they are not all known any more.
func (h *history) since(at micros) (changes []change, ok bool) {
	if at < h.floor {
		return nil, false
	}
	all := h.entries[h.first:]
	i := sort.Search(len(all), func(i int) bool { return all[i].at > at })
	place := map[string]int{}
	for _, p := range all[i:] {
		if j, seen := place[p.path()]; seen {
			changes[j].new = p.new
			continue
		}
		place[p.path()] = len(changes)
		changes = append(changes, p.change)
	}
	// What was made and deleted since is nothing.
	return slices.DeleteFunc(changes, func(c change) bool { return c.old == c.new }), true
}

// forget drops everything up to at.
func (h *history) forget(at micros) { *h = history{floor: at} }
