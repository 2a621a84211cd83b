package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scale is how much is measured.
type scale struct {
	trial  int // records of a trial of the floor's window
	warmup int // records delivered before a latency is measured: the emulators' Java starts slow

	drain int // records of a drain

	rssSmall, rssMiddle, rssLarge int           // backlogs
	rssFor                        time.Duration // how long their memory is watched

	backlogs []int // whose drains' memory is measured
	deliver  int   // records of each that are delivered at most
	large    int   // records with large payloads, likewise

	steadyRate int // records a second
	steadyFor  time.Duration

	floodBacklog int // BACKGROUND records in front of the flood
	floodRate    int // BACKGROUND records a second during it
	criticalRate int // CRITICAL records a second, in front and during
	floodFor     time.Duration

	starts int // of a side in a row

	billing int           // records of the billed drain
	idleFor time.Duration // how long an idle relay's bill is watched

	soakStep time.Duration // how long a rate is tried
	soakFor  time.Duration
}

// full is what the aims are stated for.
var full = scale{
	trial: 6_000, warmup: 2_000,
	drain:    20_000,
	rssSmall: 1_000, rssMiddle: 20_000, rssLarge: 100_000, rssFor: 20 * time.Second,
	backlogs: []int{1_000, 10_000, 100_000, 1_000_000}, deliver: 100_000, large: 200,
	steadyRate: 200, steadyFor: 20 * time.Second,
	floodBacklog: 20_000, floodRate: 500, criticalRate: 50, floodFor: 15 * time.Second,
	starts:  5,
	billing: 5_000, idleFor: time.Minute,
	soakStep: 10 * time.Second, soakFor: 10 * time.Minute,
}

// smoke shows in a minute that everything runs.
var smoke = scale{
	trial: 500, warmup: 100,
	drain:    1_000,
	rssSmall: 100, rssMiddle: 1_000, rssLarge: 2_000, rssFor: 2 * time.Second,
	backlogs: []int{1_000, 5_000}, deliver: 2_000, large: 20,
	steadyRate: 100, steadyFor: 2 * time.Second,
	floodBacklog: 1_000, floodRate: 200, criticalRate: 50, floodFor: 2 * time.Second,
	starts:  2,
	billing: 500, idleFor: 3 * time.Second,
	soakStep: 2 * time.Second, soakFor: 20 * time.Second,
}

// onGoogle is sc at the rates that Google's emulators carry, which read each
// listener's window again on every commit. A lower rate takes longer until a
// quantile means something.
func (sc scale) onGoogle() scale {
	sc.steadyRate, sc.steadyFor = 30, 3*sc.steadyFor
	sc.floodRate, sc.criticalRate, sc.floodFor = 100, 10, 2*sc.floodFor
	return sc
}

// with is sc with what wanted has of the scales that flags set.
func (sc scale) with(wanted scale) scale {
	sc.drain = cmp.Or(wanted.drain, sc.drain)
	sc.deliver = cmp.Or(wanted.deliver, sc.deliver)
	sc.large = cmp.Or(wanted.large, sc.large)
	sc.steadyRate = cmp.Or(wanted.steadyRate, sc.steadyRate)
	sc.soakFor = cmp.Or(wanted.soakFor, sc.soakFor)
	if wanted.backlogs != nil {
		sc.backlogs = wanted.backlogs
	}
	return sc
}

// parseSizes reads numbers that are separated by commas; nil for "".
func parseSizes(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var sizes []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, fmt.Errorf("%q is no number", part)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}
