package replayer

import (
	"slices"
	"time"
)

// parking remembers which targets are left alone, and until when: those that a
// replay found to have an outage, or that cannot be reached. Whatever waits for
// them waits together, and one of it tries for all. It costs no write, and
// forgets with the process, which does no harm. It is used by one goroutine.
type parking struct {
	least, most time.Duration // pauses
	targets     map[string]*parked
}

// parked is a pause, of a target or of one item.
type parked struct {
	since, until time.Time
	tries        int  // that were blocked, in a row
	trying       bool // one of its items is under way, to find out
}

func newParking(least, most time.Duration) *parking {
	return &parking{least: least, most: most, targets: make(map[string]*parked)}
}

// blocked begins a pause, for longer each time.
func (p *parking) blocked(c *parked, now time.Time) {
	pause := p.most
	if c.tries < 16 { // beyond which a shift would overflow
		pause = min(p.least<<c.tries, p.most)
	}
	c.tries++
	c.since, c.until = now, p.onGrid(now.Add(pause), pause)
}

// onGrid moves the end of a pause to the next of the points at which pauses end
// together. Long pauses have fewer.
func (p *parking) onGrid(end time.Time, pause time.Duration) time.Time {
	grid := p.least
	if pause >= coarse*p.least {
		grid *= coarse
	}
	if on := end.Truncate(grid); !on.Equal(end) {
		return on.Add(grid)
	}
	return end
}

// coarse is how many of the shortest pauses lie between the ends of long ones.
const coarse = 5

// free reports whether what misses these targets can be tried now: one of them
// is not parked, or its pause is over and nothing tries it yet. Otherwise at is when
// the first pause ends; zero: what is under way tells.
func (p *parking) free(targets []string, now time.Time) (ok bool, at time.Time) {
	for _, t := range targets {
		c := p.targets[t]
		switch {
		case c == nil, !c.until.After(now) && !c.trying:
			return true, time.Time{}
		case c.until.After(now):
			at = earlier(at, c.until)
		}
	}
	return len(targets) == 0, at
}

// tries notes that an item tries these targets now.
func (p *parking) tries(targets []string, now time.Time) {
	for _, t := range targets {
		if c := p.targets[t]; c != nil && !c.until.After(now) {
			c.trying = true
		}
	}
}

// unreachable parks targets that nothing was tried with: for the shortest pause,
// as it costs nothing to ask again.
func (p *parking) unreachable(targets []string, now time.Time) {
	for _, t := range targets {
		c := p.target(t)
		c.since, c.until = now, p.onGrid(now.Add(p.least), p.least)
	}
}

// told notes what a round told of the targets that its item missed. Those that
// answered are free. Of those that blocked it a pause begins, unless one is under
// way: many that began together tell the same.
func (p *parking) told(targets, answered, blocked []string, now time.Time) {
	for _, t := range targets {
		switch c := p.targets[t]; {
		case slices.Contains(answered, t):
			delete(p.targets, t)
		case slices.Contains(blocked, t):
			c = p.target(t)
			c.trying = false
			if !c.until.After(now) {
				p.blocked(c, now)
			}
		case c != nil:
			c.trying = false
		}
	}
}

func (p *parking) target(name string) *parked {
	c := p.targets[name]
	if c == nil {
		c = &parked{}
		p.targets[name] = c
	}
	return c
}

// rung ends the pauses, because a target may be well again.
func (p *parking) rung(now time.Time) {
	for _, c := range p.targets {
		p.hasten(c, now)
	}
}

// hasten ends a pause: one that has lasted for the shortest at once, another
// then. Without that bound each of many bells would try everything.
func (p *parking) hasten(c *parked, now time.Time) {
	soon := p.onGrid(c.since.Add(p.least), p.least)
	if soon.Before(now) {
		soon = now
	}
	if soon.Before(c.until) {
		c.until = soon
	}
}

// earlier returns the earlier of two times; zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
