package dlq

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	retry "github.com/cenkalti/backoff/v4"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// together runs the parts of a sibling until ctx ends, or until one fails,
// which ends the others. A panic is a failure that names the sibling.
func together(ctx context.Context, sibling string, parts ...func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		g.Go(func() error { return guarded(func() error { return part(ctx) }) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("run %s: %w", sibling, err)
	}
	return nil
}

// panicError is a fault of the program. Nothing waits it through.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// guarded turns a panic of f into its error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return f()
}

// panicked reports whether err is, or holds, a panic.
func panicked(err error) bool {
	_, ok := errors.AsType[*panicError](err)
	return ok
}

// rounds does work now, whenever the bell rings, and at each poll, until ctx
// ends. Work that failed is tried again after a backoff, whatever rings.
func rounds(ctx context.Context, bell <-chan struct{}, cfg SiblingConfig, what string, work func(context.Context) error) error {
	delay := newPatience(cfg.RetryMin, cfg.RetryMax)
	for ctx.Err() == nil {
		err := work(ctx)
		switch {
		case panicked(err):
			return err
		case err == nil:
			delay.reset()
			heard(ctx, bell, cfg.Poll)
		case ctx.Err() == nil:
			cfg.Log.Warn(what, zap.Error(err))
			rest(ctx, delay.next())
		}
	}
	return nil
}

// heard waits for the bell, for d, or for the end of ctx, and reports whether
// it was the bell.
func heard(ctx context.Context, bell <-chan struct{}, d time.Duration) bool {
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

// patience spaces the tries of something that is tried for ever: exponential,
// with jitter.
type patience struct{ policy *retry.ExponentialBackOff }

func newPatience(initial, most time.Duration) patience {
	return patience{retry.NewExponentialBackOff(
		retry.WithInitialInterval(initial), retry.WithMaxInterval(most), retry.WithMultiplier(2), retry.WithMaxElapsedTime(0),
	)}
}

// next is the next delay.
func (p patience) next() time.Duration { return p.policy.NextBackOff() }

func (p patience) reset() { p.policy.Reset() }

// rest waits for d. It reports false when ctx ended first.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// lingering returns a context that ends so long after ctx: for noting what was
// done when the stop came.
func lingering(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return out, func() {
		stop()
		cancel()
	}
}

// wakeOn keeps a listener on query until ctx ends, and puts a token into wake
// whenever the result changed. Any end of the listener, whatever its error,
// rebuilds it. What it tells is a hint and no more: who is woken reads for
// itself, and looks now and then without having been told.
func wakeOn(ctx context.Context, store Store, query Query, wake chan<- struct{}, c SiblingConfig) error {
	return listenOn(ctx, store, query, c, func([]Doc) { knock(wake) })
}

// listenOn keeps a listener on query until ctx ends, and calls told with each
// result. A listener that is quiet for long is replaced, as nothing else tells
// one that is deaf from one with nothing to tell: that bounds how long looks
// depend on the poll.
func listenOn(ctx context.Context, store Store, query Query, c SiblingConfig, told func([]Doc)) error {
	delay := newPatience(c.RetryMin, c.RetryMax)
	for ctx.Err() == nil {
		err := listenOnce(ctx, store, query, c.Quiet, func(docs []Doc) {
			delay.reset()
			told(docs)
		})
		if ctx.Err() == nil && err != nil {
			c.Log.Warn("listener ended and is rebuilt", zap.String("collection", query.Collection), zap.Error(err))
			rest(ctx, delay.next())
		}
	}
	return nil
}

// listenOnce returns nil once the listener was quiet for so long.
func listenOnce(ctx context.Context, store Store, query Query, quiet time.Duration, told func([]Doc)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	patience := time.AfterFunc(quiet, cancel)
	defer patience.Stop()
	err := store.Watch(ctx, query, func(docs []Doc) {
		patience.Reset(quiet)
		told(docs)
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// wakeOnBoth puts a token into wake when a query's result changes, which may be
// another instance's doing, or the bell rings. It ends with ctx.
func wakeOnBoth(ctx context.Context, store Store, query Query, bell <-chan struct{}, wake chan<- struct{}, c SiblingConfig) error {
	return together(ctx, "listener to "+query.Collection, func(ctx context.Context) error {
		return wakeOn(ctx, store, query, wake, c)
	}, func(ctx context.Context) error {
		for {
			select {
			case <-bell:
				knock(wake)
			case <-ctx.Done():
				return nil
			}
		}
	})
}

// knock puts a token into a channel that holds one.
func knock(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// refusal returns the Refusal in err, or nil.
func refusal(err error) *Refusal {
	r, _ := errors.AsType[*Refusal](err)
	return r
}

// isRefused reports whether the server judged a commit and refused it.
func isRefused(err error) bool {
	failed, ok := errors.AsType[CommitError](err)
	return ok && failed.Refused()
}
