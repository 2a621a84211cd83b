package shell

import (
	"context"
	"time"
)

// Pause waits, and is false when ctx ended before.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
