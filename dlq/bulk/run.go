package bulk

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"outboxrelay/dlq/sibling"

	"outboxrelay/dlq"
)

// run is one bulk replay at work. It is used by one goroutine, wake apart.
type run struct {
	queue Queue
	cfg   Config
	log   *zap.Logger
	wake  chan struct{}
	// place takes a place among those that have something to ask for, or gives it
	// back, and reports whether there is one.
	place func(wants bool) bool

	bulk    *dlq.Bulk // as it was last read or written
	pins    []dlq.Pin
	states  []pinState        // of the pins
	held    []held            // of the pins
	passed  map[int]judgement // of those that were passed over
	unheard map[int]bool      // requests without an answer: what came of them, the items tell
	first   map[int]bool
	latest  endings
	settled bool
	left    bool // to another version
	loading loading
	moved   bool // the last step came further, though it may have failed

	allowance allowance
	ramping   time.Time // since when the ramp runs; zero: not yet
	followAt  time.Time
	followed  time.Duration // the last distance between two looks
	saveAt    time.Time
}

func newRun(q Queue, cfg Config, b *dlq.Bulk) *run {
	return &run{
		queue: q, cfg: cfg, log: cfg.Log.With(zap.String("bulk", b.ID)), wake: make(chan struct{}, 1), bulk: b,
		passed: make(map[int]judgement), unheard: make(map[int]bool), followed: cfg.Follow, loading: loading{items: make(map[int]*dlq.Item)},
	}
}

// gap is the least time between two rounds that bells ask for: many are one.
const gap = 50 * time.Millisecond

// errLost is why a bulk replay cannot go on: its pinned items are not there.
var errLost = errors.New("its pinned items cannot be read")

// work goes on until the bulk replay is through, this instance leads no more, or
// ctx ends.
func (r *run) work(ctx context.Context) error {
	delay := sibling.NewPatience(r.cfg.RetryMin, r.cfg.RetryMax)
	loaded := false
	for ctx.Err() == nil && r.cfg.Leads() {
		wait, err := r.step(ctx, &loaded)
		switch {
		case sibling.Panicked(err):
			return err
		case err == nil && r.settled:
			r.log.Info("bulk replay is through", zap.String("state", string(r.bulk.State)), zap.Int("delivered", r.bulk.Delivered),
				zap.Int("failed", r.bulk.Failed), zap.Int("skipped", r.bulk.Skipped), zap.Int("waiting", r.bulk.Waiting))
			return nil
		case err == nil && r.left:
			return nil
		case err == nil:
			delay.Reset()
			if sibling.Heard(ctx, r.wake, wait) { // something ended, or somebody cancelled
				sibling.Rest(ctx, gap) // many bells are one
				r.followAt, r.saveAt = time.Time{}, time.Time{}
			}
		case ctx.Err() == nil:
			r.log.Warn("run bulk replay", zap.Error(err))
			if r.moved {
				delay.Reset()
			}
			sibling.Rest(ctx, delay.Next())
		}
	}
	return nil
}

func (r *run) step(ctx context.Context, loaded *bool) (wait time.Duration, err error) {
	r.moved = false
	if !*loaded {
		switch err := r.load(ctx); {
		case errors.Is(err, errLost):
			r.bulk.Waiting, r.bulk.Replaying = r.bulk.Waiting+r.bulk.Replaying, 0 // which nobody can follow
			return 0, r.save(ctx, &dlq.BulkEnd{State: dlq.BulkStopped, Reason: err.Error()})
		case err != nil:
			return 0, err
		}
		*loaded = true
	}
	return r.round(ctx)
}

// round follows what was asked for, saves how far it is, which also tells of a
// cancellation, and only then asks for more. It returns how long to wait until
// the next, unless something happens.
func (r *run) round(ctx context.Context) (time.Duration, error) {
	now := time.Now()
	if err := r.follow(ctx, now); err != nil {
		return 0, err
	}
	r.count()
	end := r.verdict()
	if end != nil || r.bulk.State != dlq.BulkRunning || !now.Before(r.saveAt) {
		if err := r.save(ctx, end); err != nil {
			return 0, err
		}
		r.saveAt = now.Add(r.cfg.Save)
	}
	wait := r.followed
	if r.place(r.asksMore()) {
		asked, err := r.ask(ctx, now)
		if err != nil {
			return 0, err
		}
		if asked > 0 {
			r.followed, r.followAt = r.cfg.Follow, now.Add(r.cfg.Follow)
		}
		if r.hungry() {
			wait = r.cfg.Ask
		}
	}
	return min(wait, r.cfg.Save), nil
}

// asksMore reports whether there is something left to ask for, now or as soon as what is
// under way has ended.
func (r *run) asksMore() bool {
	return r.bulk.State == dlq.BulkRunning && r.bulk.Waiting > 0 && !r.standstill()
}

// count counts the pins by their states, and sees whether the canary is over
// and went well.
func (r *run) count() {
	n := make(map[pinState]int)
	b := r.bulk
	b.FailedIDs = nil
	for k, s := range r.states {
		n[s]++
		if s == pinFailed && n[s] <= dlq.MaxFailedIDs {
			b.FailedIDs = append(b.FailedIDs, r.pins[k].ID)
		}
	}
	b.Delivered, b.Failed, b.Skipped, b.Replaying, b.Waiting = n[pinDelivered], n[pinFailed], n[pinSkipped], n[pinReplaying], n[pinWaiting]
	b.SkippedFor, b.HeldFor = r.skippedFor(), r.heldFor()
	if b.Phase == dlq.PhaseRamp {
		return
	}
	b.Phase = dlq.PhaseCanary
	r.relieve()
	if r.canaryOver() && r.canaryFailed() <= canaryMayFail {
		b.Phase = dlq.PhaseRamp
	}
}

// canaryOver reports whether all of the canary have ended that can go on, and some have.
// What was passed over is none of it.
func (r *run) canaryOver() (over bool) {
	out := r.out()
	for n := range r.first {
		switch s := r.states[n]; {
		case s == pinSkipped:
		case s.finished():
			over = true
		case r.holdup(n, out) == "":
			return false
		}
	}
	return over
}

// followLast is how many times less often a run that asks for nothing more looks,
// while nothing ends.
const followLast = 6

// follow looks at what was asked for, as often as things end, and at once at what may have been.
func (r *run) follow(ctx context.Context, now time.Time) error {
	if now.Before(r.followAt) && len(r.unheard) == 0 {
		return nil
	}
	var outstanding []int
	for n, s := range r.states {
		if s == pinReplaying || r.unheard[n] {
			outstanding = append(outstanding, n)
		}
	}
	items, err := r.items(ctx, outstanding)
	if err != nil {
		return err
	}
	most := r.cfg.FollowMax
	if !r.asksMore() { // there may be many of these, and the ends of replays wake it
		most *= followLast
	}
	r.followed = min(2*r.followed, most)
	for _, n := range outstanding {
		r.learn(n, items[n])
		if j := judge(r.pins[n], items[n], r.bulk.ID); j.state != r.states[n] {
			r.became(n, j)
			r.followed = r.cfg.Follow
		}
	}
	clear(r.unheard)
	r.followAt = now.Add(r.followed)
	return nil
}

// became notes that a pin is in another state.
func (r *run) became(n int, j judgement) {
	s := j.state
	r.states[n] = s
	if s == pinSkipped {
		r.passed[n] = j
	}
	if s == pinDelivered || s == pinFailed {
		r.latest.add(s == pinFailed)
	}
	if s.finished() {
		r.cfg.Metrics.items.WithLabelValues(string(s)).Inc()
	}
}
