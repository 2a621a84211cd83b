package contracts

import "time"

// ReplayPolicy is the schedule of the SAFE_AUTO replayer.
type ReplayPolicy struct {
	Delays        []time.Duration // before each replay; their number is the number of replays
	RatePerSecond float64
}

// Delay is how long after the failure before it the replay comes that follows so many
// others: its delay, a fifth more or less, so that what died together is not replayed
// together. share is uniform in [0,1), and 1 for the longest that it can be. Behind the
// last replay it is as before that; without any, 0.
func (p ReplayPolicy) Delay(replays int, share float64) time.Duration {
	if len(p.Delays) == 0 {
		return 0
	}
	d := p.Delays[min(replays, len(p.Delays)-1)]
	return time.Duration(float64(d) * (0.8 + 0.4*share)).Truncate(time.Microsecond)
}
