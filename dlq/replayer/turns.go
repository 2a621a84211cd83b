package replayer

import (
	"cmp"
	"slices"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// turns is when each queue had its last turn, counted: however much is due of one, the
// rate is shared with the others.
type turns map[queueKey]int

// queueKey is what has turns of its own: a lane of an outbox.
type queueKey struct {
	outbox string
	lane   contracts.Lane
}

func queueOf(i *dlq.Item) queueKey { return queueKey{i.Outbox, i.Lane} }

// had notes that a queue has its turn.
func (t turns) had(i *dlq.Item) {
	last := 0
	for _, n := range t {
		last = max(last, n)
	}
	t[queueOf(i)] = last + 1
}

// inTurn lists the lines that nobody works at: first those in which somebody asked
// for one, then one of each queue after another. Within a queue those come first that
// were not tried in vain, the longest due first.
func (b *backlog) inTurn() []*line {
	queues := make(map[queueKey][]*line)
	for _, l := range b.lines {
		if !l.busy {
			key := queueOf(l.items[0].item)
			queues[key] = append(queues[key], l)
		}
	}
	type placed struct {
		*line
		place, turn int // in its queue; of that the last
	}
	var all []placed
	for key, lines := range queues {
		slices.SortFunc(lines, func(a, b *line) int {
			return cmp.Or(compareFlags(b.asked(), a.asked()), cmp.Compare(a.items[0].pause.tries, b.items[0].pause.tries), compareDue(a, b))
		})
		for n, l := range lines {
			all = append(all, placed{l, n, b.turns[key]})
		}
	}
	slices.SortFunc(all, func(a, b placed) int {
		return cmp.Or(compareFlags(b.asked(), a.asked()), cmp.Compare(a.place, b.place), cmp.Compare(a.turn, b.turn), compareDue(a.line, b.line))
	})
	out := make([]*line, len(all))
	for n, l := range all {
		out[n] = l.line
	}
	return out
}

func compareDue(a, b *line) int {
	v, w := a.items[0].item, b.items[0].item
	return cmp.Or(v.NextReplayAt.Compare(w.NextReplayAt), cmp.Compare(v.ID, w.ID))
}

func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
