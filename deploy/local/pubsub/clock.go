package pubsub

import (
	"sync"
	"time"
)

// increasing returns now, but never the same or an earlier time twice. The fake
// orders the messages of a key by their publish time alone, so two equal times
// would leave their order to chance.
func increasing(now func() time.Time) func() time.Time {
	var mu sync.Mutex
	var last time.Time
	return func() time.Time {
		t := now()
		mu.Lock()
		defer mu.Unlock()
		if !t.After(last) {
			t = last.Add(time.Nanosecond)
		}
		last = t
		return t
	}
}
