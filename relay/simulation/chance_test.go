package simulation

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"
)

// chance draws what happens to each operation from the seed, from what the
// operation is and from how many there were of it before: so that a seed goes the
// same way as far as goroutines let it, and one that is made smaller goes nearly
// the same.
type chance struct {
	seed    uint64
	crowded bool
	mu      sync.Mutex
	done    map[string]uint64 // operations by what they are
}

func newChance(seed uint64, crowded bool) *chance {
	return &chance{seed: seed, crowded: crowded, done: make(map[string]uint64)}
}

// of returns the source of the draws of the next operation of that name.
func (c *chance) of(name string) *draw {
	c.mu.Lock()
	n := c.done[name]
	c.done[name]++
	c.mu.Unlock()
	h := fnv.New64a()
	h.Write([]byte(name))
	return &draw{rand.New(rand.NewPCG(c.seed^n<<32, h.Sum64())), c.crowded}
}

// draw is the source of one operation's draws.
type draw struct {
	*rand.Rand
	crowded bool // durations are whole moments
}

// hit is true with that probability.
func (d *draw) hit(p float64) bool { return d.Float64() < p }

// between draws a duration; its nanoseconds make it unlike any other.
func (d *draw) between(from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return d.crowd(from + time.Duration(d.Int64N(int64(to-from))))
}

// way is what a call takes in one direction: milliseconds, now and then many.
func (d *draw) way() time.Duration {
	took := d.between(500*time.Microsecond, 6*time.Millisecond)
	if d.hit(0.05) {
		took += d.between(0, 60*time.Millisecond)
	}
	return took
}

// pick draws one of a list.
func pick[T any](d *draw, list []T) T { return list[d.IntN(len(list))] }

// numbers returns a source of numbers in [0,1) for whoever draws by himself. They
// follow from the time, not from who draws first.
func (c *chance) numbers(name string) func() float64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	seed := c.seed ^ h.Sum64()
	return func() float64 { return rand.New(rand.NewPCG(seed, uint64(time.Now().UnixNano()))).Float64() }
}
