package relay

import (
	"slices"

	"outboxrelay/contracts"
)

// shareOf is how many of a lane's workers may have a run that waits for the same target:
// a quarter is left to others, so that a target that takes its time, but answers before
// its breaker opens, does not hold them up. 0, all of them, where the lane has one target.
func shareOf(c *contracts.Catalog, lane contracts.Lane) int {
	if len(targetsOf(c, lane)) < 2 {
		return 0
	}
	workers := c.Lanes[lane].Workers
	return workers - workers/4
}

// targetsOf lists the targets of a lane's events.
func targetsOf(c *contracts.Catalog, lane contracts.Lane) []string {
	var out []string
	for _, o := range c.Outboxes {
		for _, e := range o.Events {
			if e.Lane == lane {
				out = append(out, e.Targets...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
