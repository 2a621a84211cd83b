package relay

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

// follower keeps a view of a small collection up to date: by a watch that is
// rebuilt whatever ends it, and by a poll for what the watch does not tell. A
// poll that finds news that the watch had not told has it rebuilt.
type follower struct {
	name   string
	tuning Tuning
	log    *zap.Logger
	// watch listens until ctx ends or the listener fails.
	watch func(ctx context.Context) error
	// wake gets a token when update has something to do. So does bell, which may
	// be nil.
	wake   <-chan struct{}
	bell   <-chan struct{}
	update func(ctx context.Context) error
	// poll reads all that there is and reports whether that held news. It bounds its
	// reads itself, as there may be many.
	poll func(ctx context.Context) (news bool, err error)
}

// load polls until that succeeded, or ctx ends.
func (f *follower) load(ctx context.Context) {
	delay := f.tuning.retryDelay()
	for ctx.Err() == nil {
		_, err := f.poll(ctx)
		if err == nil {
			return
		}
		f.log.Warn("read "+f.name+", trying again", zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		delay.sleep(ctx)
	}
}

// loadAll loads them side by side.
func loadAll(ctx context.Context, all []*follower) {
	var loading sync.WaitGroup
	for _, f := range all {
		loading.Go(func() { f.load(ctx) })
	}
	loading.Wait()
}

// run follows until ctx ends.
func (f *follower) run(ctx context.Context) error {
	rebuild := make(chan struct{}, 1)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { f.supervise(ctx, rebuild); return nil })
	g.Go(func() error { f.keep(ctx, rebuild); return nil })
	return g.Wait()
}

// keep updates the view when woken, and polls now and then.
func (f *follower) keep(ctx context.Context, rebuild chan struct{}) {
	delay := f.tuning.retryDelay()
	tick := time.NewTicker(f.tuning.SweepInterval)
	defer tick.Stop()
	again := make(chan struct{}, 1)
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			var news bool
			if news, err = f.poll(ctx); news {
				signal(rebuild)
			}
		case <-f.wake:
			err = f.updated(ctx, again)
		case <-f.bell:
			err = f.updated(ctx, again)
		case <-again:
			err = f.updated(ctx, again)
		}
		if err == nil {
			delay.reset()
		} else if ctx.Err() == nil {
			f.log.Warn("read "+f.name, zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
			delay.sleep(ctx)
		}
	}
}

func (f *follower) updated(ctx context.Context, again chan struct{}) error {
	err := f.tuning.within(ctx, f.update)
	if err != nil {
		signal(again)
	}
	return err
}

// supervise opens a watch after another, each with a context of its own.
func (f *follower) supervise(ctx context.Context, rebuild <-chan struct{}) {
	delay := f.tuning.retryDelay()
	for ctx.Err() == nil {
		began := time.Now()
		planned, err := f.once(ctx, rebuild)
		if ctx.Err() != nil || planned {
			continue
		}
		f.log.Warn("watch of "+f.name+" ended, rebuilding it", zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		if time.Since(began) > f.tuning.ListenBackoffMax {
			delay.reset()
		}
		delay.sleep(ctx)
	}
}

// once watches until the watch fails, or is to be replaced as planned: it is
// old enough, or missed something.
func (f *follower) once(ctx context.Context, rebuild <-chan struct{}) (planned bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.tuning.RecycleAfter)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f.watch(ctx) }()
	select {
	case err := <-ended:
		return ctx.Err() != nil, err
	case <-rebuild:
		cancel()
		return true, <-ended
	}
}
