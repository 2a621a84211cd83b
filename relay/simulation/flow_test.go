package simulation

import (
	"context"
	"sync"
	"time"
)

// flow is an open stream of snapshots over one collection.
type flow struct {
	wire    *wire
	ctx     context.Context
	draw    *draw
	changed chan struct{}
	close   func()

	told bool // its first snapshot was there

	mu     sync.Mutex
	silent bool
	ended  chan error
}

// flow opens one. It ends with ctx.
func (x *wire) flow(ctx context.Context, collection, name string) (*flow, error) {
	d := x.world.chance.of(x.identity() + "stream " + name)
	x.step("open")
	if err := x.sleep(ctx, d.way()); err != nil {
		return nil, err
	}
	if fault := x.world.hits(d, down, x.instance); fault != nil {
		return nil, failed(fault.Code)
	}
	f := &flow{wire: x, ctx: ctx, draw: d, changed: make(chan struct{}, 1), ended: make(chan error, 1)}
	unwatch := x.world.db.watch(collection, f.changed)
	x.mu.Lock()
	x.opened++
	x.streams[f] = x.opened
	x.mu.Unlock()
	f.close = sync.OnceFunc(func() {
		unwatch()
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.streams, f)
	})
	context.AfterFunc(ctx, f.close)
	return f, nil
}

func (f *flow) fallSilent() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent = true
	signal(f.changed)
}

func (f *flow) isSilent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.silent
}

func (f *flow) end(err error) {
	select {
	case f.ended <- err:
	default:
	}
}

// next waits until look reports that there is something to tell. look reads what
// stands and returns when that was.
func (f *flow) next(look func() (at time.Time, news bool)) (readTime time.Time, err error) {
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	x := f.wire
	if !f.told {
		wait := f.draw.way()
		if x.world.hits(f.draw, streamsOpen, x.instance) != nil {
			wait = f.draw.between(time.Second, 25*time.Second)
		}
		if err := f.pause(wait); err != nil {
			return time.Time{}, err
		}
	}
	for {
		if f.told {
			select {
			case <-f.changed:
			case err := <-f.ended:
				return time.Time{}, err
			case <-f.ctx.Done():
				return time.Time{}, gaveUp(f.ctx)
			case <-x.cut:
				return time.Time{}, x.sleep(f.ctx, 0)
			}
			if err := f.pause(f.draw.way()); err != nil {
				return time.Time{}, err
			}
		}
		if f.isSilent() {
			return time.Time{}, x.sleep(f.ctx, 1000*time.Hour)
		}
		select {
		case <-f.changed: // what it told of is looked at now
		default:
		}
		at, news := look()
		if !news && f.told {
			continue
		}
		f.told = true
		late := time.Duration(0)
		if f.draw.hit(x.world.plan.LateReads) {
			x.world.count("fault: late read times")
			late = f.draw.between(0, 900*time.Millisecond)
		}
		wait := late
		if x.world.hits(f.draw, streamsLag, x.instance) != nil {
			wait += f.draw.between(0, 5*time.Second)
		}
		if err := f.pause(wait); err != nil {
			return time.Time{}, err
		}
		x.step("snapshot")
		return at.Add(late).Truncate(time.Microsecond), nil
	}
}

// pause waits, unless the stream ends meanwhile.
func (f *flow) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-f.ended:
		return err
	case <-f.ctx.Done():
		return gaveUp(f.ctx)
	case <-f.wire.cut:
		return f.wire.sleep(f.ctx, 0)
	}
}
