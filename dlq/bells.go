package dlq

import "sync"

// Bell is what a change rings, so that a sibling goroutine of this instance
// looks at once. Those of other instances hear it from Firestore.
type Bell string

// The bells.
const (
	BellReplays Bell = "replays" // something may be due
	BellAlerts  Bell = "alerts"  // an alert was stored
	BellFreezes Bell = "freezes" // a freeze was made, released or is gone
	BellBulk    Bell = "bulk"    // a bulk replay was made or cancelled
	BellLanes   Bell = "lanes"   // a lane was paused or resumed
)

// bells hands out channels that hold one token each.
type bells struct {
	mu       sync.Mutex
	channels map[Bell][]chan struct{}
}

// Hear returns a channel that gets a token when the bell rings. It is the
// caller's for good.
func (q *Queue) Hear(b Bell) <-chan struct{} {
	c := make(chan struct{}, 1)
	q.bells.mu.Lock()
	defer q.bells.mu.Unlock()
	if q.bells.channels == nil {
		q.bells.channels = make(map[Bell][]chan struct{})
	}
	q.bells.channels[b] = append(q.bells.channels[b], c)
	return c
}

// Ring rings a bell.
func (q *Queue) Ring(b Bell) {
	q.bells.mu.Lock()
	defer q.bells.mu.Unlock()
	for _, c := range q.bells.channels[b] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
