package sibling

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// Watch is a listener: it calls heard now and after each change, until ctx ends or
// it fails. It always returns an error.
type Watch func(ctx context.Context, heard func()) error

// Listen keeps a listener to a collection until ctx ends. Any end of the listener,
// whatever its error, rebuilds it. One that is quiet for long is replaced, as
// nothing else tells one that is deaf from one with nothing to tell: that bounds
// how long looks depend on the poll.
func Listen(ctx context.Context, cfg Config, collection string, watch Watch) error {
	delay := NewPatience(cfg.RetryMin, cfg.RetryMax)
	for ctx.Err() == nil {
		err := listenOnce(ctx, cfg.Quiet, func(ctx context.Context, heard func()) error {
			return watch(ctx, func() {
				delay.Reset()
				heard()
			})
		})
		if ctx.Err() == nil && err != nil {
			cfg.Log.Warn("listener ended and is rebuilt", zap.String("collection", collection), zap.Error(err))
			Rest(ctx, delay.Next())
		}
	}
	return nil
}

// listenOnce returns nil once the listener was quiet for so long.
func listenOnce(ctx context.Context, quiet time.Duration, watch Watch) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	patience := time.AfterFunc(quiet, cancel)
	defer patience.Stop()
	err := watch(ctx, func() { patience.Reset(quiet) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Wake keeps a listener as Listen does, and puts a token into wake whenever it
// tells. What it tells is a hint and no more: who is woken reads for itself, and
// looks now and then without having been told.
func Wake(ctx context.Context, cfg Config, collection string, watch Watch, wake chan<- struct{}) error {
	return Listen(ctx, cfg, collection, func(ctx context.Context, heard func()) error {
		return watch(ctx, func() {
			heard()
			Knock(wake)
		})
	})
}

// WakeOnBoth puts a token into wake when a listener tells, which may be another
// instance's doing, or the bell rings. It ends with ctx.
func WakeOnBoth(ctx context.Context, cfg Config, collection string, watch Watch, bell <-chan struct{}, wake chan<- struct{}) error {
	return Together(ctx, "listener to "+collection, func(ctx context.Context) error {
		return Wake(ctx, cfg, collection, watch, wake)
	}, func(ctx context.Context) error {
		for {
			select {
			case <-bell:
				Knock(wake)
			case <-ctx.Done():
				return nil
			}
		}
	})
}
