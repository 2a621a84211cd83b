package contracts

import (
	"testing"
	"time"
)

func TestReplayDelaysAreSpread(t *testing.T) {
	p := ReplayPolicy{Delays: []time.Duration{5 * time.Second, 30 * time.Second}}
	for _, c := range []struct {
		replays int
		share   float64
		want    time.Duration
	}{
		{0, 0, 4 * time.Second},
		{0, 0.5, 5 * time.Second},
		{0, 1, 6 * time.Second},
		{1, 0.5, 30 * time.Second},
		{2, 1, 36 * time.Second}, // one that the catalog has no more
	} {
		if got := p.Delay(c.replays, c.share); (got - c.want).Abs() > time.Microsecond {
			t.Errorf("after %d replays with share %v the delay is %v, want %v", c.replays, c.share, got, c.want)
		}
	}
	if got := (ReplayPolicy{}).Delay(0, 1); got != 0 {
		t.Errorf("without delays it is %v, want 0", got)
	}
}
