package sibling

import (
	"context"
	"time"

	retry "github.com/cenkalti/backoff/v4"
)

// Patience spaces the tries of something that is tried for ever: exponential,
// with jitter. It is used by one goroutine.
type Patience struct{ policy *retry.ExponentialBackOff }

// NewPatience begins with delays of about initial, which grow up to most.
func NewPatience(initial, most time.Duration) Patience {
	return Patience{retry.NewExponentialBackOff(
		retry.WithInitialInterval(initial), retry.WithMaxInterval(most), retry.WithMultiplier(2), retry.WithMaxElapsedTime(0),
	)}
}

// Next is the next delay.
func (p Patience) Next() time.Duration { return p.policy.NextBackOff() }

// Reset begins again with the first delay.
func (p Patience) Reset() { p.policy.Reset() }

// Rest waits for d. It reports false when ctx ended first.
func Rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Lingering returns a context that ends so long after ctx: for noting what was
// done when the stop came.
func Lingering(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return out, func() {
		stop()
		cancel()
	}
}
