package relay

import (
	"context"
	"sync"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/lanes"
)

// laneControls pauses and resumes the lanes as operators said, on whichever
// instance they said it.
type laneControls struct {
	queue *dlq.Queue
	pools map[contracts.Lane]*lanes.Pool
	log   *zap.Logger

	mu    sync.Mutex
	known map[contracts.Lane]dlq.LaneControl
}

// read applies what stands in Firestore and reports whether it was news.
func (c *laneControls) read(ctx context.Context) (news bool, err error) {
	controls, err := c.queue.LaneControls(ctx)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for lane, pool := range c.pools {
		control := controls[lane]
		if control.Paused == pool.Paused() {
			continue
		}
		news = true
		fields := []zap.Field{zap.String("lane", string(lane)), zap.String("by", control.By), zap.String("reason", control.Reason)}
		if control.Paused {
			pool.Pause()
			c.log.Warn("lane paused", fields...)
		} else {
			pool.Resume()
			c.log.Warn("lane resumed", fields...)
		}
	}
	c.known = controls
	return news, nil
}

// of returns what operators said last about a lane.
func (c *laneControls) of(lane contracts.Lane) dlq.LaneControl {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[lane]
}

// followLanes keeps the lanes as operators said.
func (r *Relay) followLanes() *follower {
	wake := make(chan struct{}, 1)
	return &follower{
		name: "lane controls", tuning: r.tuning, log: r.log, wake: wake, bell: r.queue.Hear(dlq.BellLanes),
		poll: func(ctx context.Context) (news bool, err error) {
			err = r.tuning.within(ctx, func(ctx context.Context) error {
				news, err = r.controls.read(ctx)
				return err
			})
			return news, err
		},
		watch: func(ctx context.Context) error { return r.queue.WatchLanes(ctx, func() { signal(wake) }) },
		update: func(ctx context.Context) error {
			_, err := r.controls.read(ctx)
			return err
		},
	}
}

// followFreezes keeps the view of the frozen aggregates.
func (r *Relay) followFreezes() *follower {
	return &follower{
		name: "freezes", tuning: r.tuning, log: r.log, wake: r.freezes.wake, update: r.freezes.settleDoubts,
		watch: func(ctx context.Context) error {
			return r.queue.WatchFreezes(ctx, func(all []*dlq.Freeze) { r.freezes.told(all) })
		},
		poll: func(ctx context.Context) (bool, error) {
			began := r.now()
			all, err := r.allFreezes(ctx)
			if err != nil {
				return false, err
			}
			return r.freezes.read(all, began), nil
		},
	}
}

// allFreezes reads every freeze.
func (r *Relay) allFreezes(ctx context.Context) (all []*dlq.Freeze, err error) {
	for after, more := "", true; more; {
		err := r.tuning.patiently(ctx, func(ctx context.Context) error {
			some, last, err := r.queue.FreezesAfter(ctx, after)
			if err == nil {
				all, after, more = append(all, some...), last, last != ""
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
