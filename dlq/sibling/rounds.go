package sibling

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// Rounds does work now, whenever the bell rings, and at each poll, until ctx
// ends. Work that failed is tried again after a backoff, whatever rings. It
// returns an error when the work panicked, and no other.
func Rounds(ctx context.Context, bell <-chan struct{}, cfg Config, what string, work func(context.Context) error) error {
	delay := NewPatience(cfg.RetryMin, cfg.RetryMax)
	for ctx.Err() == nil {
		err := work(ctx)
		switch {
		case Panicked(err):
			return err
		case err == nil:
			delay.Reset()
			Heard(ctx, bell, cfg.Poll)
		case ctx.Err() == nil:
			cfg.Log.Warn(what, zap.Error(err))
			Rest(ctx, delay.Next())
		}
	}
	return nil
}

// Heard waits for the bell, for d, or for the end of ctx, and reports whether
// it was the bell.
func Heard(ctx context.Context, bell <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-bell:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// Knock puts a token into a channel that holds one.
func Knock(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
