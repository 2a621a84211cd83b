package relay

import (
	"context"
	"time"

	"outboxrelay/relay/feed"
)

// leavingPatience is how long readers wait for a record to leave memory, from when it
// begins to. Its progress is written within a few milliseconds; where Firestore does not
// take it, as somebody has the document locked, they leave the younger ones of its
// aggregate behind and go on.
const leavingPatience = time.Second

// leaves notes that e begins to leave memory.
func (l *ledger) leaves(e *entry, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.leaves = at
}

// left returns a channel that is closed when e, which is leaving, has left memory, or
// lingers: at once if so.
func (l *ledger) left(e *entry) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.machine.Leaves(&e.Record) {
		return closed
	}
	if e.hasLeft == nil {
		e.hasLeft = make(chan struct{})
	}
	return e.hasLeft
}

// closed is a channel that is.
var closed = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// wake tells whoever waits for e to leave memory.
func (e *entry) wake() {
	if e.hasLeft != nil {
		close(e.hasLeft)
		e.hasLeft = nil
	}
}

// lingers reports whether e, which is leaving, does so for too long to wait for it, and
// tells the feeds if so.
func (o *outbox) lingers(e *entry) bool {
	o.ledger.mu.Lock()
	long := !e.leaves.IsZero() && o.now().Sub(e.leaves) >= leavingPatience
	o.ledger.mu.Unlock()
	if long {
		o.ledger.step(feed.Lingers{Record: &e.Record})
	}
	return long
}

// waitFor waits until e has left memory, or lingers, and has the feed read on from a
// place.
func (r *reader) waitFor(ctx context.Context, e *entry, from Position) error {
	timer := time.NewTimer(leavingPatience)
	defer timer.Stop()
	select {
	case <-r.intake.ledger.left(e):
	case <-timer.C: // it may have begun in between: judged again when it is read again
	case <-ctx.Done():
		return ctx.Err()
	}
	r.intake.reread(from)
	return nil
}
