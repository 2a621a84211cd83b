package main

// overtakes counts for each consumer the calls of a handler that an inbox must not make: its message came after the claim of an
// earlier event of the aggregate stood in the store, and it was called before that had its first effect. Which of two events
// that came at the same time is claimed first is nobody's promise, and does not count.
func overtakes(n notes) map[string]int {
	first := map[happening]int64{} // effects
	for _, e := range n.effects {
		did := happening{e.Consumer, e.EventID}
		if at, ok := first[did]; !ok || e.At < at {
			first[did] = e.At
		}
	}
	claimed := map[happening]beginning{} // the first of each event
	for _, b := range n.beginnings {
		did := happening{b.Consumer, b.EventID}
		if before, ok := claimed[did]; !ok || b.At < before.At {
			claimed[did] = b
		}
	}
	of := map[happening][]beginning{} // by the aggregate
	for _, b := range claimed {
		about := happening{b.Consumer, b.Aggregate}
		of[about] = append(of[about], b)
	}
	out := map[string]int{}
	for _, b := range n.beginnings {
		for _, earlier := range of[happening{b.Consumer, b.Aggregate}] {
			if earlier.Version >= b.Version || b.Arrived <= earlier.At {
				continue
			}
			if at, ok := first[happening{earlier.Consumer, earlier.EventID}]; !ok || b.At < at {
				out[b.Consumer]++
				break
			}
		}
	}
	return out
}
