package inbox

import "time"

const (
	// How often an event is asked for again that another handles, or that waits behind one
	// that is being handled.
	pollFirst = 20 * time.Millisecond
	pollLast  = time.Second
	// behindPause keeps what waits behind a failing event from going round and round where the
	// subscription has no backoff. It is short, as the messages of an aggregate come one
	// after another, and the failing one comes behind these.
	behindPause = 20 * time.Millisecond
)

// wait holds the message of an event that cannot be handled now, and reports whether it
// is to be claimed again. Otherwise it is to be given back.
func (d *delivery) wait(c Claim) bool {
	left := d.opts.Hold - d.heldFor
	if left <= 0 {
		return false
	}
	select {
	case d.held <- struct{}{}:
		defer func() { <-d.held }()
	default:
		return false // as many as may be held are
	}
	pause := c.Wait
	switch {
	case c.Verdict == Behind && c.Failing:
		rest(d.ctx, min(behindPause, left))
		return false
	case c.Verdict != Early: // its end may come at any time
		d.polls++
		pause = min(pollFirst<<min(d.polls-1, 10), pollLast)
	}
	d.heldFor += min(pause, left)
	return rest(d.ctx, min(pause, left)) && pause <= left
}
