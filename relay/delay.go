package relay

import (
	"context"
	"time"

	retry "github.com/cenkalti/backoff/v4"
)

// retryDelay spaces the tries of something that is tried for ever: exponential,
// with jitter.
type retryDelay struct{ policy *retry.ExponentialBackOff }

// retryDelay begins with the first delay.
func (t Tuning) retryDelay() *retryDelay {
	return &retryDelay{policy: retry.NewExponentialBackOff(
		retry.WithInitialInterval(t.ListenBackoff), retry.WithMaxInterval(t.ListenBackoffMax), retry.WithMultiplier(2), retry.WithMaxElapsedTime(0),
	)}
}

func (d *retryDelay) reset() { d.policy.Reset() }

// next returns the next delay.
func (d *retryDelay) next() time.Duration { return d.policy.NextBackOff() }

// sleep waits for the next delay, or until ctx ends. It reports false when ctx ended first.
func (d *retryDelay) sleep(ctx context.Context) bool { return sleep(ctx, d.next()) }

// sleep waits for d. It reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
