package inbox

import (
	"math/rand/v2"
	"sync"
	"time"
)

// outages counts the outages in a row that each event met, so that one that lasts is asked less and less
// often. It is this process's alone: another one, or a later, begins at the first delay again.
type outages struct {
	mu  sync.Mutex
	row map[string]int // by event ID
}

const (
	// longestOutage bounds the wait: an outage that is over is noticed so soon.
	longestOutage = time.Minute
	// maxOutages bounds the events that are counted. One that is forgotten begins anew.
	maxOutages = 10_000
)

// met notes that an event met an outage, and returns how long it waits: at first as long as first, and then twice as
// long each time, up to longestOutage or first. Of that a half is left to chance, so that what met the
// outage together does not come together again.
func (o *outages) met(eventID string, first time.Duration) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, known := o.row[eventID]
	if !known && len(o.row) >= maxOutages {
		for some := range o.row {
			delete(o.row, some)
			break
		}
	}
	if o.row == nil {
		o.row = make(map[string]int)
	}
	o.row[eventID] = n + 1
	if n == 0 {
		return first
	}
	most := max(first, longestOutage)
	wait := first
	for range min(n, 62) {
		wait = min(2*wait, most)
	}
	return max(first, wait/2+rand.N(wait/2+1))
}

// over ends an event's row: it met something else than an outage.
func (o *outages) over(eventID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.row, eventID)
}
