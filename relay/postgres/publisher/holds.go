package publisher

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// backoff is a wait with full jitter: between nothing and base doubled for each failure before,
// at most limit.
type backoff struct {
	base, limit time.Duration
	random      func() float64 // 0 to 1; nil: the program's own
}

// wait is that after so many failures in a row; 0 after none.
func (b backoff) wait(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	most := min(float64(b.limit), float64(b.base)*math.Exp2(float64(failures-1)))
	random := b.random
	if random == nil {
		random = rand.Float64
	}
	return time.Duration(random() * most)
}

// holds are the aggregates that this process leaves alone for a while: those whose head was
// refused, and for a while those with a parked one, which a claim passes over by itself. They are
// kept in memory alone: after a restart each is tried at once.
// Safe for concurrent use.
type holds struct {
	mu    sync.Mutex
	until map[aggregate]time.Time
}

func newHolds() *holds { return &holds{until: map[aggregate]time.Time{}} }

// hold leaves an aggregate alone until then.
func (h *holds) hold(a aggregate, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until[a] = until
}

// at are the keys of what is held at now. Those whose time is over are let go.
func (h *holds) at(now time.Time) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var keys []string
	for a, until := range h.until {
		if until.After(now) {
			keys = append(keys, a.key())
		} else {
			delete(h.until, a)
		}
	}
	return keys
}

// next is how long it is until one of them is let go; ok is false where there is none.
func (h *holds) next(now time.Time) (wait time.Duration, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, until := range h.until {
		if left := max(0, until.Sub(now)); !ok || left < wait {
			wait, ok = left, true
		}
	}
	return wait, ok
}
