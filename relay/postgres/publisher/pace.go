package publisher

import (
	"math/rand/v2"
	"time"
)

// report is what came of a round.
type report struct {
	claimed   int  // rows locked
	seen      int  // rows in the window
	window    int  // how many could be seen
	batch     int  // how many could be claimed
	published int  // rows acknowledged and marked
	outage    bool // the topic is out
	err       error
}

// pace says how long to wait after a round, and how far the next one looks.
type pace struct {
	poll     time.Duration
	failures backoff
	batch    int

	row    int // rounds in a row that met an outage, of the topic or of the database
	window int
	full   int // full batches in a row
}

// narrowAfter is after how many full batches in a row a window that had to be wide is tried at half of it.
const narrowAfter = 16

// sight is how many rows a claim of one row looks at, at first: aggregates that others hold, and those
// with many rows, leave enough of the others.
const sight = 4

func newPace(o Options) *pace {
	return &pace{
		poll: o.Poll, failures: backoff{base: o.RetryBase, limit: o.RetryMax},
		batch: o.Batch, window: sight * o.Batch,
	}
}

// next is the wait after a round. awake tells whether a notification may cut it short: not where
// something is out.
func (p *pace) next(r report) (wait time.Duration, awake bool) {
	if r.published > 0 {
		p.row = 0
	}
	if r.err != nil || r.outage {
		p.row++
		return p.failures.wait(p.row), false
	}
	p.row = 0
	full := r.seen >= r.window
	switch {
	case r.claimed >= r.batch:
		if p.full++; p.full%narrowAfter == 0 {
			p.window = max(sight*p.batch, p.window/2)
		}
		return 0, true
	case full: // all that is in sight belongs to others or waits: look farther
		p.window *= 4
		p.full = 0
		return 0, true
	case r.published > 0 && r.published < r.claimed: // the rest may go now, as after a probe
		return 0, true
	}
	return p.jittered(), true
}

// jittered is the poll, give or take a quarter, so that publishers do not ask in step.
func (p *pace) jittered() time.Duration {
	return time.Duration((0.75 + 0.5*rand.Float64()) * float64(p.poll))
}
