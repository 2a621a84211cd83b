package switchboard

import "math/rand/v2"

// Tally decides which of the calls that a fault matches it hits, and counts them.
// It is not safe for concurrent use.
type Tally struct {
	Met int // calls that the fault matched so far
	Hit int // of them, those that it hit

	skip, times int
	share       float64
	dice        *rand.Rand
}

// NewTally spares the first skip calls and then hits so many times (0: no bound)
// a share of them (0: all), which seed chooses.
func NewTally(skip, times int, share float64, seed uint64) Tally {
	return Tally{skip: skip, times: times, share: share, dice: rand.New(rand.NewPCG(seed, 0))}
}

// Strikes counts a matching call and reports whether it is hit.
func (t *Tally) Strikes() bool {
	t.Met++
	if t.Met <= t.skip || t.UsedUp() {
		return false
	}
	if t.share > 0 && t.dice.Float64() >= t.share {
		return false
	}
	t.Hit++
	return true
}

// UsedUp reports whether the fault will hit no call any more.
func (t *Tally) UsedUp() bool { return t.times > 0 && t.Hit >= t.times }
