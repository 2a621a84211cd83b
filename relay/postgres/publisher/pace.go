package publisher

import (
	"math/rand/v2"
	"time"
)

// report is what came of a round.
type report struct {
	near      bool       // its claim was
	walk      bool       // its claim walked over aggregates
	end       *aggregate // where that has stopped, nil: at the last one
	passed    int        // aggregates that it passed by, as they are held back
	indexed   bool       // a near claim may be made
	claimed   int        // rows locked
	usable    int        // of these could be published
	batch     int        // how many could be claimed
	alone     bool       // no other process was at work, for all that the claim saw
	more      bool       // there may be rows beyond what the claim looked at
	sight     int        // rows that may go, as far as the claim saw, those that others have among them
	published int        // rows acknowledged; marked as well where there is no err
	marked    bool       // something was written of its rows
	unmarked  bool       // err is that of its marks
	outage    bool       // the topic is out
	err       error
}

// tellsOfMarks is whether a good round shows that marks are taken: it made some, or nothing may go, so that others have. One that
// left all to others tells nothing.
func (r *report) tellsOfMarks() bool { return r.marked || r.sight == 0 }

// pace says how long to wait after a round, and how the next one looks.
type pace struct {
	poll     time.Duration
	failures backoff
	batch    int

	row      int  // rounds in a row that met an outage, of the topic or of the database
	unmarked bool // the database took no marks in one of these
	window   int
	full     int  // full batches in a row
	near     bool // the next claim is
	nears    lull // near claims that are let pass

	walk    bool       // the next claim walks over aggregates
	from    *aggregate // and goes on behind this one
	passed  int        // on this way, those that are held back
	windows lull       // windows that are let pass meanwhile
}

// look is how a claim looks for rows.
type look struct {
	window int        // as of transaction
	from   *aggregate // of a walk, as of transaction
}

// narrowAfter is after how many full batches in a row a window that had to be wide is tried at half of it.
const narrowAfter = 4

// sight is how many rows a claim of one row looks at, at first: aggregates that others hold, and those
// with many rows, leave enough of the others.
const sight = 4

// widest is how many times that, at most, where a claim may walk instead: some thousand rows, which take a few milliseconds.
const widest = 16

func newPace(batch int, poll time.Duration, failures backoff) *pace {
	return &pace{poll: poll, failures: failures, batch: batch, window: sight * batch}
}

// look is how the next claim looks.
func (p *pace) look() look {
	switch {
	case p.near:
		return look{}
	case p.walk:
		return look{window: walking, from: p.from}
	}
	return look{window: p.window}
}

// next is the wait after a round. awake tells whether a notification may cut it short: not where
// something is out.
func (p *pace) next(r report) (wait time.Duration, awake bool) {
	good := r.err == nil && (r.published > 0 || !r.outage)
	if good && (!p.unmarked || r.tellsOfMarks()) { // else the same rows may be published again
		p.row, p.unmarked = 0, false
	}
	if r.err != nil || r.outage {
		p.row++
		p.unmarked = p.unmarked || r.unmarked
		p.near = false
		return p.failures.wait(p.row), false
	}
	full := r.claimed >= r.batch
	switch {
	case r.walk:
		if p.walked(r, full) {
			return 0, true
		}
	case r.near:
		if full {
			p.nears.paidOff(2*r.usable >= r.batch) // else others have the heads
		}
		if p.near = full && 2*r.usable >= r.batch; p.near {
			p.window = sight * p.batch
		}
		return 0, true
	case full:
		p.windows = lull{}
		if p.full++; p.full%narrowAfter == 0 {
			p.window = max(sight*p.batch, p.window/2)
		}
		p.near = r.indexed && p.nears.heeds()
		return 0, true
	case r.more && r.indexed && p.window >= widest*sight*p.batch: // and what is far is looked for by aggregate
		p.walk, p.from, p.passed, p.full = true, nil, 0, 0
		p.windows.paidOff(false)
		return 0, true
	case r.more: // all that is in sight belongs to others or waits: look farther
		p.window *= 4
		p.full = 0
		p.near = r.indexed && p.nears.heeds()
		return 0, true
	}
	if r.published > 0 && r.published < r.claimed { // the rest may go now, as after a probe
		return 0, true
	}
	return p.jittered(), true
}

// walked follows a walk, and tells whether the next claim is made at once. Walks go on for as long as there are
// aggregates to pass by, except that in a backlog a window is tried now and then, the widest one, as it is cheaper.
func (p *pace) walked(r report, full bool) (atOnce bool) {
	p.from = r.end
	p.passed += r.passed
	switch {
	case !r.indexed: // somebody has dropped it
		p.walk = false
	case full && p.windows.heeds():
		p.walk = false
		return true
	case full || r.end != nil:
		return true
	case p.passed == 0:
		p.walk, p.window = false, sight*p.batch
	}
	p.passed = 0
	return false
}

// jittered is the poll, give or take a quarter, so that publishers do not ask in step.
func (p *pace) jittered() time.Duration {
	return time.Duration((0.75 + 0.5*rand.Float64()) * float64(p.poll))
}
