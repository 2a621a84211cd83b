package main

import (
	"cmp"
	"maps"
	"slices"

	"outboxrelay/contracts"
)

// end is where consumers keep their inbox, and where their effects go.
type end string

// The ends.
const (
	endFirestore end = "firestore" // both in one transaction
	endPostgres  end = "postgres"  // both in one transaction
	endApart     end = "apart"     // the inbox in a database, the effect in a file
)

// ordered tells for each consumer whether its subscriptions have message ordering. Every second one of an end has: behind
// such a one a store that keeps no order is not seen, as Pub/Sub keeps it; without it the store alone does.
func ordered(consumers map[string][]string, ends []end) map[string]bool {
	out := map[string]bool{}
	for i, name := range byTopics(consumers) {
		out[name] = i/len(ends)%2 == 1
	}
	return out
}

// exact reports whether an event has its effect exactly once there.
func (e end) exact() bool { return e != endApart }

// consumersOf lists the consumers of a catalog with the topics on which their events are.
func consumersOf(c *contracts.Catalog) map[string][]string {
	out := map[string][]string{}
	for _, o := range c.Outboxes {
		for _, e := range o.Events {
			for _, name := range e.Consumers {
				for _, target := range e.Targets {
					if topic := c.Targets[target].Topic; !slices.Contains(out[name], topic) {
						out[name] = append(out[name], topic)
					}
				}
			}
		}
	}
	return out
}

// deal gives each consumer an end, those of most topics first, so that each end has some.
func deal(consumers map[string][]string, ends []end) map[string]end {
	out := map[string]end{}
	for i, name := range byTopics(consumers) {
		out[name] = ends[i%len(ends)]
	}
	return out
}

// byTopics are the names of consumers, those of most topics first.
func byTopics(consumers map[string][]string) []string {
	return slices.SortedFunc(maps.Keys(consumers), func(a, b string) int {
		if d := len(consumers[b]) - len(consumers[a]); d != 0 {
			return d
		}
		return cmp.Compare(a, b)
	})
}
