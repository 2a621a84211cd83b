package feed

import (
	"cmp"
	"slices"
)

// A lane makes up a run of an aggregate's records, and asks for the turn of one after
// the other. What is brought back meanwhile comes into the lane before younger ones, but
// not into that run: those of the run must not go where it has yet to go.

// queue notes that r comes into its lane, and had no turn there yet.
func (m *Machine) queue(r *Record) {
	if r.Faulty || r.feed() == nil {
		return
	}
	all := m.queued[r.Aggregate]
	at, _ := slices.BinarySearchFunc(all, r.Version, func(each *Record, version int64) int { return cmp.Compare(each.Version, version) })
	m.queued[r.Aggregate] = slices.Insert(all, at, r)
	r.queued = true
}

// unqueue notes that r had its turn, or left memory without.
func (m *Machine) unqueue(r *Record) {
	if !r.queued {
		return
	}
	r.queued = false
	all := m.queued[r.Aggregate]
	if len(all) == 1 {
		delete(m.queued, r.Aggregate)
		return
	}
	at := slices.Index(all, r)
	m.queued[r.Aggregate] = slices.Delete(all, at, at+1)
}

// inTurn takes those targets out of open that an older record of r's aggregate misses
// which had no turn yet.
func (m *Machine) inTurn(r *Record, open, gated []string) (stillOpen, nowGated []string) {
	for _, older := range m.queued[r.Aggregate] {
		if !older.olderThan(r) {
			break
		}
		if older.feed() == r.feed() {
			open, gated = withhold(open, gated, older.Targets)
		}
	}
	return open, gated
}

// withhold moves from open to gated the targets that an older record has to go to first.
func withhold(open, gated, targets []string) (stillOpen, nowGated []string) {
	if len(targets) == 0 {
		return open, gated
	}
	stillOpen = slices.DeleteFunc(open, func(t string) bool {
		waits := slices.Contains(targets, t)
		if waits {
			gated = append(gated, t)
		}
		return waits
	})
	return stillOpen, gated
}
