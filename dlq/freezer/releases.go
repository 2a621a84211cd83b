package freezer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/sibling"
)

// releaser finishes releases: it turns the held records of an aggregate back to
// pending, in every outbox, and then deletes its freeze. Each step may be
// repeated, so a release goes on where a crash left it.
type releaser struct {
	queue Releases
	cfg   Config
	bell  <-chan struct{}
	wake  chan struct{} // the bell, or a listener that heard of a release on another instance
	all   *underWay
	look  look
}

// look is how far a look through the releases has come. It rests while every place is
// taken, and goes on where it was when there is one: so each of them is read once, however
// many they are.
type look struct {
	midway  bool          // it has begun and not come to its end
	after   string        // where its next page begins; "" midway: there is none
	waiting []*dlq.Freeze // of its last page, those that had no place
}

func newReleaser(q Queue, cfg Config) *releaser {
	wake := make(chan struct{}, 1)
	return &releaser{queue: q, cfg: cfg, bell: q.Hear(dlq.BellFreezes), wake: wake, all: newUnderWay(cfg, func() { sibling.Knock(wake) })}
}

// maxHeldRefusals bounds the refused commits in a row before a release is
// left for the next round.
const maxHeldRefusals = 10

func (r *releaser) run(ctx context.Context) error {
	defer r.all.ended.Wait()
	return sibling.Rounds(ctx, r.wake, r.cfg.Config, "release frozen aggregates", r.releaseAll)
}

// listen wakes run, until ctx ends.
func (r *releaser) listen(ctx context.Context) error {
	return sibling.WakeOnBoth(ctx, r.cfg.Config, contracts.CollectionFrozen, r.queue.WatchReleases, r.bell, r.wake)
}

// releaseAll begins to finish every release that was decided. One that cannot be
// finished, or takes long, does not hold up the others.
func (r *releaser) releaseAll(ctx context.Context) error {
	if err := r.all.fault(); err != nil {
		return err
	}
	if !r.cfg.Leads() {
		r.look = look{}
		return nil
	}
	for rested := r.look.midway; ; {
		for n, freeze := range r.look.waiting {
			if !r.begin(ctx, freeze) {
				r.look.waiting, r.look.midway = r.look.waiting[n:], true
				return nil
			}
		}
		r.look.waiting = nil
		if r.look.midway && r.look.after == "" {
			r.look.midway = false
			r.all.forget()
			if !rested {
				return nil
			}
			rested = false // what was released while it rested may stand before what it has read
		}
		if err := r.page(ctx); err != nil {
			return err
		}
	}
}

// page reads the look's next page.
func (r *releaser) page(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	page, next, err := r.queue.Releases(ctx, r.look.after)
	if err != nil {
		return err
	}
	r.look = look{midway: true, after: next, waiting: page}
	return nil
}

// begin begins a release, and reports false when there is no place for it.
func (r *releaser) begin(ctx context.Context, freeze *dlq.Freeze) bool {
	return r.all.begin(ctx, freeze.AggregateID, func(ctx context.Context) error { return r.release(ctx, freeze) }, func(err error) {
		r.cfg.Metrics.releases.WithLabelValues(outcomeFailed).Inc()
		r.cfg.Log.Warn("release frozen aggregate, trying again", zap.String("aggregateId", freeze.AggregateID), zap.String("traceId", freeze.TraceID), zap.Error(err))
	})
}

// release turns back what is held, then ends the freeze. No record can become
// held meanwhile: a hold is committed with the freeze as it was before the
// release, so it fails. So an outbox that was seen empty stays so, unless the
// aggregate is frozen again, which keeps the freeze from being deleted. For the
// same reason the outboxes are all that can have any: whoever held a record had a
// lease before the release.
func (r *releaser) release(ctx context.Context, freeze *dlq.Freeze) error {
	outboxes, err := r.outboxes(ctx)
	if err != nil {
		return err
	}
	for _, outbox := range outboxes {
		err := r.turnBack(ctx, outbox, freeze)
		if errors.Is(err, errOtherFreeze) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	records, done, err := r.end(ctx, freeze)
	if err != nil || !done {
		return err
	}
	r.cfg.Metrics.releases.WithLabelValues(outcomeDone).Inc()
	r.cfg.Log.Info("aggregate released", zap.String("aggregateId", freeze.AggregateID), zap.String("traceId", freeze.TraceID), zap.Int64("records", records))
	return nil
}

// outboxes are all that may hold records, as of now.
func (r *releaser) outboxes(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	return r.queue.Outboxes(ctx)
}

// errOtherFreeze ends a release whose freeze is gone, or became another: its
// aggregate died again.
var errOtherFreeze = errors.New("the freeze is not the one that is released")

// turnBack turns the held records of one outbox back to pending. A page of them that
// was changed underneath is read again, as long as the freeze stands.
func (r *releaser) turnBack(ctx context.Context, outbox string, freeze *dlq.Freeze) error {
	for after, refused := "", 0; ; {
		c, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
		n, next, err := r.queue.TurnBack(c, outbox, freeze, after)
		cancel()
		r.cfg.Metrics.released.Add(float64(n))
		switch {
		case err == nil && next == "":
			return nil
		case err == nil:
			after, refused = next, 0
		case dlq.IsRefused(err) && refused < maxHeldRefusals:
			refused++
			if err := r.stands(ctx, freeze); err != nil {
				return err
			}
			if !sibling.Rest(ctx, rand.N(time.Duration(refused)*20*time.Millisecond)) { // those who collided do not collide again
				return context.Cause(ctx)
			}
		default:
			return fmt.Errorf("turn back held records of %s: %w", outbox, err)
		}
	}
}

// stands fails with errOtherFreeze when the freeze is not any more as it was read.
func (r *releaser) stands(ctx context.Context, freeze *dlq.Freeze) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	now, err := r.queue.FreezesOf(ctx, freeze.AggregateID)
	switch {
	case err != nil:
		return fmt.Errorf("read freeze: %w", err)
	case len(now) == 0 || !now[0].UpdateTime.Equal(freeze.UpdateTime):
		return errOtherFreeze
	}
	return nil
}

// end deletes the freeze as it was read, and returns how many records were turned
// back. It reports false when there was none to delete: see dlq.Queue.EndRelease.
func (r *releaser) end(ctx context.Context, freeze *dlq.Freeze) (records int64, done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	return r.queue.EndRelease(ctx, freeze)
}
