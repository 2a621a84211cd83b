package workqueue

import (
	"time"

	"google.golang.org/grpc/status"
)

// Health is how one instance does with its queue.
type Health struct {
	Queue    string
	Instance string // begins the tokens of its claims
	Stopping bool
	Waiting  int // documents that wait for a worker of this instance
	Later    int // documents that it knows of and that are due later
	Busy     int // documents that a worker has
	Workers  int
	Listener ListenerHealth
	Round    RoundHealth
}

// ListenerHealth is how the listener of pending documents does.
type ListenerHealth struct {
	State    string    // starting, alive or rebuilding
	Since    time.Time // of the stream that is open
	Shown    int       // documents in its window
	Rebuilds int       // since the start
	Reason   string    // of the last rebuild; "": there was none
}

// States of a listener.
const (
	ListenerStarting   = "starting"   // a stream is open, and has told nothing yet
	ListenerAlive      = "alive"      // it has told of all that is pending
	ListenerRebuilding = "rebuilding" // there is no stream
)

// RoundHealth is the last round through all open documents.
type RoundHealth struct {
	At    time.Time // of its end; zero: there was none
	Took  time.Duration
	Fresh int    // documents that nobody here had known of
	Error string // the code of its failure; "": it went well
}

// Ready reports whether the queue finds work: its listener is alive, and its last
// round went well.
func (h Health) Ready() bool {
	return !h.Stopping && h.Listener.State == ListenerAlive && !h.Round.At.IsZero() && h.Round.Error == ""
}

// Health tells how the queue does. It looks at memory alone.
func (q *Queue) Health() Health {
	h := Health{Queue: q.vocabulary.Queue, Instance: q.instance, Stopping: q.stopping.Load(), Workers: q.tuning.Workers}
	q.mu.Lock()
	h.Waiting, h.Later, h.Busy = q.line.ready, q.line.later.Len(), len(q.line.busy)
	h.Round = q.lastRound
	q.mu.Unlock()
	h.Listener = q.watch.health()
	return h
}

// ended notes the end of a round.
func (q *Queue) ended(began time.Time, fresh int, err error) {
	round := RoundHealth{At: time.Now().UTC(), Took: time.Since(began), Fresh: fresh}
	if err != nil {
		round.Error = status.Code(err).String()
	}
	q.mu.Lock()
	q.lastRound = round
	q.mu.Unlock()
}

func (l *listener) health() ListenerHealth {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := ListenerHealth{State: ListenerRebuilding, Shown: len(l.shown), Rebuilds: l.rebuilds, Reason: l.reason}
	switch {
	case l.open && l.shown != nil:
		h.State, h.Since = ListenerAlive, l.opened.UTC()
	case l.open:
		h.State, h.Since = ListenerStarting, l.opened.UTC()
	}
	return h
}

// rebuilt notes why a stream is being replaced.
func (l *listener) rebuilt(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rebuilds++
	l.reason = reason
}
