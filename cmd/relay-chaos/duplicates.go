package main

import (
	"slices"
	"strings"
	"time"
)

// duplicate is a message that was not the first of its record at a target.
type duplicate struct {
	path, target string
	before, at   time.Time // of the message before it, and its own
	episode      *episode  // the fault that explains it; nil: none does
}

// aftermath is how long after its end a fault may still be the reason for a
// second message: until the slowest request of a relay that slept through it
// has had its time.
const aftermath = 20 * time.Second

// judgeDuplicates blames each duplicate on a fault that went on between the two
// messages, or shortly before. What one fault sends twice is bounded by what
// the relays hold in memory.
func (t *trial) judgeDuplicates() {
	for at, arrivals := range t.arrived {
		t.checked[fewDuplicates]++
		slices.SortFunc(arrivals, func(a, b arrival) int { return a.at.Compare(b.at) })
		for i := 1; i < len(arrivals); i++ {
			d := duplicate{path: at.path, target: at.target, before: arrivals[i-1].at, at: arrivals[i].at}
			d.episode = t.blame(d)
			t.duplicates = append(t.duplicates, d)
		}
	}
	slices.SortFunc(t.duplicates, func(a, b duplicate) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return strings.Compare(a.path, b.path)
	})
	byEpisode := map[*episode]int{}
	for _, d := range t.duplicates {
		byEpisode[d.episode]++
		if d.episode == nil {
			t.found(fewDuplicates, d.path, "it arrived at %s at %s and again at %s, and no fault was near", d.target, clock(d.before), clock(d.at))
		}
	}
	for e, n := range byEpisode {
		if e != nil && n > t.bound {
			t.found(fewDuplicates, e.kind, "fault %d sent %d messages twice; its relays can have had %d in memory", e.number, n, t.bound)
		}
	}
}

// blame returns the latest fault that can be the reason for a duplicate.
func (t *trial) blame(d duplicate) *episode {
	var found *episode
	for _, e := range t.episodes {
		if e.began.Before(d.at) && e.ended.Add(aftermath).After(d.before) && (found == nil || e.began.After(found.began)) {
			found = e
		}
	}
	return found
}
