package lease

import (
	"sync/atomic"
	"time"
)

// validShare is the part of its term for which an owner trusts a lease. What
// it began last then has 0.4 of the term to end: 6 s of the default 15, for a
// publish of at most 5.
const validShare = 0.6

// validFor is how long a lease of that term is trusted after its renewal was sent.
func validFor(term time.Duration) time.Duration { return time.Duration(validShare * float64(term)) }

// Lease is the ownership of one share, as its Work sees it.
type Lease struct {
	share string
	since time.Time
	idle  time.Duration
	epoch time.Time    // of until
	until atomic.Int64 // nanoseconds after epoch, on the monotonic clock
}

func newLease(share string, since, epoch time.Time) *Lease {
	l := &Lease{share: share, since: since, epoch: epoch}
	l.until.Store(noTime)
	return l
}

// noTime is an end of validity that has always passed.
const noTime = -1

// Share is the name of what is owned.
func (l *Lease) Share() string { return l.share }

// Since is the server's time of the taking.
func (l *Lease) Since() time.Time { return l.since }

// Idle is for how long nobody had owned any share when this one was taken: since the
// last was released, or its lease ran out; as long as can be if nobody ever had.
func (l *Lease) Idle() time.Duration { return l.idle }

// Valid reports whether the share is certainly ours at this moment. It is cheap
// enough to be asked before every delivery. A lease that lapsed may become valid
// again: then nobody owned the share in between. One that was lost does not.
func (l *Lease) Valid() bool { return int64(time.Since(l.epoch)) < l.until.Load() }

// Ended reports whether the share was lost or given back: the lease does not become
// valid again.
func (l *Lease) Ended() bool { return l.until.Load() == noTime }

// trust makes the lease valid until a moment, unless it is so for longer.
func (l *Lease) trust(until time.Time) {
	end := int64(until.Sub(l.epoch))
	if end > l.until.Load() { // the keeper's loop alone writes
		l.until.Store(end)
	}
}

// end makes the lease invalid for good.
func (l *Lease) end() { l.until.Store(noTime) }

// ends is the moment at which the lease lapses.
func (l *Lease) ends() time.Time { return l.epoch.Add(time.Duration(l.until.Load())) }
