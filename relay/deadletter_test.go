package relay

import (
	"testing"
	"time"

	"outboxrelay/contracts"
)

func TestBackoff(t *testing.T) {
	p := contracts.RetryPolicy{Initial: 500 * time.Millisecond, Max: 10 * time.Second, Multiplier: 4}
	for attempts, most := range map[int]time.Duration{1: 500 * time.Millisecond, 2: 2 * time.Second, 3: 8 * time.Second, 4: 10 * time.Second, 1000: 10 * time.Second} {
		if got := backoff(p, attempts, 0); got != 0 {
			t.Errorf("after %d attempts the least wait is %v, want 0", attempts, got)
		}
		if got := backoff(p, attempts, 0.5); got != most/2 {
			t.Errorf("after %d attempts the middle wait is %v, want %v", attempts, got, most/2)
		}
	}
}
