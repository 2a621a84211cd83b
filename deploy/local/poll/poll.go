// Package poll waits in tests for what comes from elsewhere, and tells by looking alone.
package poll

import "time"

// most is how long it waits between two looks at most.
const most = time.Second

// True waits until ok, and reports whether it came to be true in time. After each look it
// waits for eight times as long as that took, least at least: looks that are dear are
// rare, so that they leave the processor to what they look at.
func True(within, least time.Duration, ok func() bool) bool {
	deadline := time.After(within)
	for {
		began := time.Now()
		if ok() {
			return true
		}
		select {
		case <-time.After(max(least, min(8*time.Since(began), most))):
		case <-deadline:
			return false
		}
	}
}
