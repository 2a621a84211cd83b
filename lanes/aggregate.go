package lanes

import (
	"slices"
	"time"
)

// place is where an aggregate stands in its pool.
type place uint8

const (
	isReady   place = iota // in the ready list of its class
	isRunning              // its run is with a worker
	isWaiting              // in the wait heap, because its head waits for its retry
)

// aggregate is the tasks of one key. It exists while it has any.
type aggregate struct {
	key   string
	place place
	queue taskQueue
	run   []*Task  // what a worker has; nil unless isRunning
	needs []string // what the run waits for
	woken []string // labels woken since the run began

	refused   bool
	refusedAt position // lowest that was refused, when refused

	blocked      time.Duration // time in isWaiting so far, without the present
	blockedSince time.Time     // start of the present; only when isWaiting

	class    *class     // that it is or was ready in
	turn     uint64     // order of entry in the ready lists
	next     *aggregate // in the ready list
	waitIdx  int        // in the wait heap
	waitEnd  time.Time  // key in the wait heap: must not change there, as the head's own may
	waitTurn uint64     // order of entry in the wait heap, for equal ends
}

// enqueue puts t in its place of the queue and starts its queue time.
func (a *aggregate) enqueue(t *Task, now time.Time) {
	t.stay.queuedAt, t.stay.blockedAt = now, a.blockedFor(now)
	a.queue.add(t)
}

// clock adds t's time in the queue to what it waited and backed off.
func (a *aggregate) clock(t *Task, now time.Time) {
	blocked := a.blockedFor(now) - t.stay.blockedAt
	t.stay.backedOff += blocked
	t.stay.waited += now.Sub(t.stay.queuedAt) - blocked
}

// blockedFor returns for how long the head has been waiting, all waits added.
func (a *aggregate) blockedFor(now time.Time) time.Duration {
	if a.place == isWaiting {
		return a.blocked + now.Sub(a.blockedSince)
	}
	return a.blocked
}

// refuses reports whether an offered task has no place: too many wait already,
// or an older one had none and must not be overtaken. A task older than a
// waiting head always has one, since it has to go first.
func (a *aggregate) refuses(t *Task, behind int) bool {
	pos := t.position()
	if a.refused && pos.compare(a.refusedAt) > 0 {
		return true
	}
	return a.place == isWaiting && len(a.queue)-1 >= behind && pos.compare(a.queue.head().position()) >= 0
}

// refuse remembers that t had no place.
func (a *aggregate) refuse(t *Task) {
	if pos := t.position(); !a.refused || pos.compare(a.refusedAt) < 0 {
		a.refused, a.refusedAt = true, pos
	}
}

// wake ends the waits on a label. A run that is with a worker is told when it
// ends.
func (a *aggregate) wake(on string) {
	if a.place == isRunning && !slices.Contains(a.woken, on) {
		a.woken = append(a.woken, on)
	}
	for _, t := range a.queue {
		if t.stay.on == on {
			t.stay.notBefore = time.Time{}
		}
	}
}
