package replayer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// One after another a queue has its turn, however much of another was due before, and
// within each the longest due comes first, but for what was tried in vain.
func TestQueuesHaveTurns(t *testing.T) {
	b := newBacklog(new(contracts.Catalog), 16)
	due := noon
	keep := func(outbox string, lane contracts.Lane, n int) {
		for range n {
			due = due.Add(time.Second)
			id := fmt.Sprintf("%s-%d", outbox, len(b.items))
			b.keep(&dlq.Item{ID: id, Outbox: outbox, AggregateID: id, Lane: lane, NextReplayAt: due})
		}
	}
	keep("flood", contracts.BackgroundLane, 100)
	keep("few", contracts.StandardLane, 3)
	keep("flood", contracts.CriticalLane, 1)
	b.items["few-100"].pause.tries = 1
	var got []string
	take := func(l *line) {
		i := l.items[0].item
		b.turns.had(i)
		b.remove(i.ID)
		got = append(got, i.ID)
	}
	take(b.inTurn()[0])
	take(b.inTurn()[0])
	for _, l := range b.inTurn()[:3] { // several at once
		take(l)
	}
	for range 3 {
		take(b.inTurn()[0])
	}
	want := []string{"flood-0", "few-101", "flood-103", "flood-1", "few-102", "flood-2", "few-100", "flood-3"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
