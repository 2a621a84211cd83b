package dlq

import "time"

// parking remembers which due items are left alone, and until when:
// those whose target has an outage. It costs no write, and forgets with the
// process, which does no harm. It is used by one goroutine.
type parking struct {
	least, most time.Duration // pauses
	cars        map[string]*parked
}

type parked struct {
	since, until time.Time
	tries        int // that were blocked, in a row
}

func newParking(least, most time.Duration) *parking {
	return &parking{least: least, most: most, cars: make(map[string]*parked)}
}

// blocked parks an item whose replay an outage stopped: for longer each time.
func (p *parking) blocked(id string, now time.Time) {
	c := p.cars[id]
	if c == nil {
		c = &parked{}
		p.cars[id] = c
	}
	pause := p.most
	if c.tries < 16 { // beyond which a shift would overflow
		pause = min(p.least<<c.tries, p.most)
	}
	c.tries++
	c.since, c.until = now, p.onGrid(now.Add(pause), pause)
}

// onGrid moves the end of a pause to the next of the points at which pauses end
// together: each end costs a look at all that is due. Long pauses have fewer.
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

// freed reports whether a pause ended after that time and until now.
func (p *parking) freed(after, now time.Time) bool {
	for _, c := range p.cars {
		if c.until.After(after) && !c.until.After(now) {
			return true
		}
	}
	return false
}

// gone forgets an item: it was not blocked this time.
func (p *parking) gone(id string) { delete(p.cars, id) }

// holds reports whether an item is parked now.
func (p *parking) holds(id string, now time.Time) bool {
	c := p.cars[id]
	return c != nil && c.until.After(now)
}

// rung ends the pauses, because a target may be well again: those that have
// lasted for the shortest pause at once, others then. Without that bound each of
// many bells would try everything.
func (p *parking) rung(now time.Time) {
	for _, c := range p.cars {
		soon := p.onGrid(c.since.Add(p.least), p.least)
		if soon.Before(now) {
			soon = now // which freed tells of
		}
		if soon.Before(c.until) {
			c.until = soon
		}
	}
}

// look returns how many items are parked and when the first pause ends; zero:
// none does. Items that were free for long and that nobody took are forgotten.
func (p *parking) look(now time.Time) (held int, first time.Time) {
	for id, c := range p.cars {
		switch {
		case c.until.After(now):
			held++
			if first.IsZero() || c.until.Before(first) {
				first = c.until
			}
		case now.Sub(c.until) > 10*p.most:
			delete(p.cars, id)
		}
	}
	return held, first
}
