package contracts

import "time"

// What a catalog that leaves a key out gets.

const (
	defaultRetention = 168 * time.Hour
	maxShards        = 64 // each is a share with listeners of its own
	// defaultHandlerRate, in calls a second, is a stop to what runs away. Firebase
	// publishes no limit for changes of claims; where it has one, its answers hold
	// the calls up.
	defaultHandlerRate = 500
	anyVersion         = "any" // how a catalog writes version 0
)

func defaultLanes() map[Lane]LanePolicy {
	return map[Lane]LanePolicy{
		CriticalLane: {
			SLA: 500 * time.Millisecond, Workers: 64, Run: 100, Window: 500, InFlight: 1000, InFlightMiB: 8,
			SettleLinger: 50 * time.Millisecond,
		},
		StandardLane: {
			SLA: 2 * time.Second, Workers: 64, Run: 100, Window: 500, InFlight: 1000, InFlightMiB: 8,
			SettleLinger: 100 * time.Millisecond,
		},
		BackgroundLane: {
			SLA: 30 * time.Second, Workers: 16, Run: 200, Window: 500, InFlight: 1000, InFlightMiB: 8,
			SettleLinger: 200 * time.Millisecond,
		},
	}
}

func defaultRetry() RetryPolicy {
	return RetryPolicy{MaxAttempts: 3, Initial: 500 * time.Millisecond, Max: 10 * time.Second, Multiplier: 4}
}

func defaultReplay() ReplayPolicy {
	return ReplayPolicy{
		Delays:        []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute},
		RatePerSecond: 20,
	}
}
