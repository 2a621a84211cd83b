package relay

import (
	"cmp"
	"slices"

	"outboxrelay/contracts"
)

// evenOut has the shards of an outbox take turns in a queue, at the places that it has
// there. Firestore bears only so many writes a second to the sequential index of each: the
// marks of one alone would fill all commits under way, and the other shards would wait.
// Outboxes keep their places, as a commit to many of them takes longer than one to few.
func evenOut(queue []*settlement) {
	places := make(map[*contracts.Outbox][]int)
	for i, st := range queue {
		if of := st.entry.outbox.spec; of.Shards > 1 {
			places[of] = append(places[of], i)
		}
	}
	type turn struct {
		*settlement
		nth int // of its shard
	}
	for _, at := range places {
		turns, of := make([]turn, len(at)), make(map[*outbox]int)
		for i, place := range at {
			st := queue[place]
			turns[i] = turn{st, of[st.entry.outbox]}
			of[st.entry.outbox]++
		}
		slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.nth, b.nth) })
		for i, place := range at {
			queue[place] = turns[i].settlement
		}
	}
}
