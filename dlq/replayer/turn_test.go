package replayer

import (
	"testing"
	"time"

	"outboxrelay/dlq"
)

func TestTurn(t *testing.T) {
	for _, c := range []struct {
		name  string
		item  dlq.Item
		older dlq.Item
		want  time.Duration // from now
	}{
		{"a moment after the older's time", dlq.Item{DeadAt: noon}, dlq.Item{NextReplayAt: noon.Add(10 * time.Second)}, 11 * time.Second},
		{"the older comes much later", dlq.Item{DeadAt: noon}, dlq.Item{NextReplayAt: noon.Add(30 * time.Minute)}, 10 * time.Minute},
		{"the older is due now", dlq.Item{DeadAt: noon}, dlq.Item{NextReplayAt: noon}, time.Second},
		{"the older is late", dlq.Item{DeadAt: noon}, dlq.Item{NextReplayAt: noon.Add(-time.Minute)}, 15 * time.Second},
		{"the older is very late", dlq.Item{DeadAt: noon}, dlq.Item{NextReplayAt: noon.Add(-time.Hour)}, 10 * time.Minute},
		{"the older waits for a person, lately", dlq.Item{DeadAt: noon}, dlq.Item{}, 5 * time.Second},
		{"the older waits for a person, for a while", dlq.Item{DeadAt: noon.Add(-time.Minute)}, dlq.Item{}, 15 * time.Second},
		{"the older waits for a person, for days", dlq.Item{DeadAt: noon.Add(-100 * time.Hour)}, dlq.Item{}, 10 * time.Minute},
		{"somebody asked for the younger", dlq.Item{DeadAt: noon.Add(-100 * time.Hour), Replaying: &dlq.Request{}}, dlq.Item{}, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := turn(noon, &c.item, &c.older).Sub(noon); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
