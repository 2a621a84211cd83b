package dlq

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

// bulkRun is one bulk replay at work. It is used by one goroutine, wake apart.
type bulkRun struct {
	queue *Queue
	cfg   SiblingConfig
	log   *zap.Logger
	wake  chan struct{}
	// place takes a place among those that have something to ask for, or gives it
	// back, and reports whether there is one.
	place func(wants bool) bool

	bulk    *Bulk // as it was last read or written
	pins    []pin
	states  []pinState // of the pins
	first   map[int]bool
	latest  endings
	settled bool

	allowance allowance
	ramping   time.Time // since when the ramp runs; zero: not yet
	followAt  time.Time
	followed  time.Duration // the last distance between two looks
	saveAt    time.Time
}

func newBulkRun(q *Queue, cfg SiblingConfig, b *Bulk) *bulkRun {
	return &bulkRun{queue: q, cfg: cfg, log: cfg.Log.With(zap.String("bulk", b.ID)), wake: make(chan struct{}, 1), bulk: b, followed: cfg.Bulk.Follow}
}

// errLost is why a bulk replay cannot go on: its pinned items are not there.
var errLost = errors.New("its pinned items cannot be read")

// run works until the bulk replay is through, this instance leads no more, or
// ctx ends.
func (r *bulkRun) run(ctx context.Context) error {
	delay := newPatience(r.cfg.RetryMin, r.cfg.RetryMax)
	loaded := false
	for ctx.Err() == nil && r.cfg.Leads() {
		wait, err := r.step(ctx, &loaded)
		switch {
		case panicked(err):
			return err
		case err == nil && r.settled:
			r.log.Info("bulk replay is through", zap.String("state", string(r.bulk.State)), zap.Int("delivered", r.bulk.Delivered),
				zap.Int("failed", r.bulk.Failed), zap.Int("skipped", r.bulk.Skipped), zap.Int("waiting", r.bulk.Waiting))
			return nil
		case err == nil:
			delay.reset()
			if heard(ctx, r.wake, wait) { // something ended, or somebody cancelled
				rest(ctx, gap) // many bells are one
				r.followAt, r.saveAt = time.Time{}, time.Time{}
			}
		case ctx.Err() == nil:
			r.log.Warn("run bulk replay", zap.Error(err))
			rest(ctx, delay.next())
		}
	}
	return nil
}

func (r *bulkRun) step(ctx context.Context, loaded *bool) (wait time.Duration, err error) {
	if !*loaded {
		switch err := r.load(ctx); {
		case errors.Is(err, errLost):
			r.bulk.Waiting, r.bulk.Replaying = r.bulk.Waiting+r.bulk.Replaying, 0 // which nobody can follow
			return 0, r.save(ctx, &bulkEnd{BulkStopped, actionStop, err.Error()})
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
func (r *bulkRun) round(ctx context.Context) (time.Duration, error) {
	now := time.Now()
	if err := r.follow(ctx, now); err != nil {
		return 0, err
	}
	r.count()
	end := r.verdict()
	if end != nil || r.bulk.State != BulkRunning || !now.Before(r.saveAt) {
		if err := r.save(ctx, end); err != nil {
			return 0, err
		}
		r.saveAt = now.Add(r.cfg.Bulk.Save)
	}
	wait := r.followed
	if r.place(r.asksMore()) {
		asked, err := r.ask(ctx, now)
		if err != nil {
			return 0, err
		}
		if asked > 0 {
			r.followed, r.followAt = r.cfg.Bulk.Follow, now.Add(r.cfg.Bulk.Follow)
		}
		if r.hungry() {
			wait = r.cfg.Bulk.Ask
		}
	}
	return min(wait, r.cfg.Bulk.Save), nil
}

// asksMore reports whether there is something left to ask for, now or later.
func (r *bulkRun) asksMore() bool { return r.bulk.State == BulkRunning && r.bulk.Waiting > 0 }

// count counts the pins by their states, and sees whether the canary is over
// and went well.
func (r *bulkRun) count() {
	n := make(map[pinState]int)
	b := r.bulk
	b.FailedIDs = nil
	for k, s := range r.states {
		n[s]++
		if s == pinFailed && n[s] <= MaxFailedIDs {
			b.FailedIDs = append(b.FailedIDs, r.pins[k].id)
		}
	}
	b.Delivered, b.Failed, b.Skipped, b.Replaying, b.Waiting = n[pinDelivered], n[pinFailed], n[pinSkipped], n[pinReplaying], n[pinWaiting]
	b.Phase = PhaseCanary
	if r.canaryOver() && r.canaryFailed() <= canaryMayFail {
		b.Phase = PhaseRamp
	}
}

func (r *bulkRun) canaryOver() bool {
	for n := range r.first {
		if !r.states[n].finished() {
			return false
		}
	}
	return true
}

// followLast is how many times less often a run that asks for nothing more looks,
// while nothing ends.
const followLast = 6

// follow looks at what was asked for, as often as things end.
func (r *bulkRun) follow(ctx context.Context, now time.Time) error {
	if now.Before(r.followAt) {
		return nil
	}
	var outstanding []int
	for n, s := range r.states {
		if s == pinReplaying {
			outstanding = append(outstanding, n)
		}
	}
	items, err := r.items(ctx, outstanding)
	if err != nil {
		return err
	}
	most := r.cfg.Bulk.FollowMax
	if !r.asksMore() { // there may be many of these, and the ends of replays wake it
		most *= followLast
	}
	r.followed = min(2*r.followed, most)
	for _, n := range outstanding {
		if s := r.pins[n].judge(items[n], r.bulk.ID); s != pinReplaying {
			r.became(n, s)
			r.followed = r.cfg.Bulk.Follow
		}
	}
	r.followAt = now.Add(r.followed)
	return nil
}

// became notes that a pin is in another state.
func (r *bulkRun) became(n int, s pinState) {
	r.states[n] = s
	if s == pinDelivered || s == pinFailed {
		r.latest.add(s == pinFailed)
	}
	if s.finished() {
		r.cfg.Metrics.bulkItems.WithLabelValues(string(s)).Inc()
	}
}
