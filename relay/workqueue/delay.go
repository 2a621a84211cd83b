package workqueue

import (
	"context"
	"math/rand/v2"
	"time"

	retry "github.com/cenkalti/backoff/v4"
)

// retryDelay spaces the tries of something that is tried for ever: exponential, with
// jitter.
type retryDelay struct{ policy *retry.ExponentialBackOff }

func newDelay(t Tuning) *retryDelay {
	return &retryDelay{policy: retry.NewExponentialBackOff(
		retry.WithInitialInterval(t.Backoff), retry.WithMaxInterval(t.BackoffMax), retry.WithMultiplier(2), retry.WithMaxElapsedTime(0),
	)}
}

func (d *retryDelay) reset() { d.policy.Reset() }

// sleep waits for the next delay, or until ctx ends.
func (d *retryDelay) sleep(ctx context.Context) { sleep(ctx, d.policy.NextBackOff()) }

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// callTimeout bounds a try at a call to Firestore, which over a connection that
// swallows everything would not end.
const callTimeout = 30 * time.Second

// jittered is d, a tenth more or less, so that instances do not march in step.
func jittered(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}
