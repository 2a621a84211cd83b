package bulk

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/dlq"
	"outboxrelay/dlq/sibling"
)

const (
	// maxOutstanding bounds what a bulk replay asked for and that has not ended, apart from
	// what something holds up.
	maxOutstanding = 100
	// maxStuck bounds that: of a target that goes out there are as many as may be
	// outstanding, and no more are asked for.
	maxStuck = 4 * maxOutstanding
	// asksAtOnce is how many requests are made at the same time.
	asksAtOnce = 16
)

// candidates returns at most limit pins to ask for next: in order, and of each
// aggregate only the first that is not finished. None misses a target that is out.
func (r *run) candidates(limit int) []int {
	return r.askable(r.out(), func(n int) bool { return r.bulk.Phase == dlq.PhaseRamp || r.first[n] }, limit)
}

// hungry reports whether there is something to ask for and room for it.
func (r *run) hungry() bool { return r.room() > 0 && len(r.candidates(1)) > 0 }

// room is how many more may be asked for.
func (r *run) room() int {
	going, stuck := r.going()
	return max(0, min(maxOutstanding-going, maxStuck-stuck))
}

// ask asks for the next replays, as many as the phase and the rate allow, and
// returns how many were asked for. Requests that fail while others do not are made again
// in the next round.
func (r *run) ask(ctx context.Context, now time.Time) (int, error) {
	limit := r.room()
	if r.bulk.Phase == dlq.PhaseRamp {
		if r.ramping.IsZero() {
			r.ramping = now
		}
		limit = min(limit, r.allowance.save(now, rateAfter(r.bulk.RatePerSecond, now.Sub(r.ramping), r.cfg.RampStep)))
	}
	next := r.candidates(limit)
	items, err := r.items(ctx, next)
	if err != nil {
		return 0, err
	}
	for _, n := range next {
		r.learn(n, items[n])
	}
	var mu sync.Mutex
	asked := 0
	var g errgroup.Group
	g.SetLimit(asksAtOnce)
	for _, n := range next {
		g.Go(func() error {
			return sibling.Guarded(func() error {
				j, err := r.request(ctx, r.pins[n], items[n])
				mu.Lock()
				defer mu.Unlock()
				if j.state != pinWaiting {
					r.became(n, j)
				}
				if j.state == pinReplaying {
					asked++
				}
				if err != nil {
					r.unheard[n] = true
				}
				return err
			})
		})
	}
	err = g.Wait()
	r.allowance.use(asked)
	if err != nil && asked > 0 && !sibling.Panicked(err) {
		r.log.Warn("ask for replays, trying again", zap.Int("asked", asked), zap.Int("of", len(next)), zap.Error(err))
		return asked, nil
	}
	return asked, err
}

// request asks for the replay of one item, if it still is what was pinned.
func (r *run) request(ctx context.Context, p dlq.Pin, i *dlq.Item) (judgement, error) {
	if j := judge(p, i, r.bulk.ID); j.state != pinWaiting {
		return j, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	_, err := r.queue.Decide(ctx, p.ID, dlq.Decide{
		Action: dlq.Replay, Actor: r.bulk.By, Reason: mark(r.bulk.ID) + ": " + r.bulk.Reason, Seen: i.UpdateTime, Bulk: r.bulk.ID,
	})
	why := dlq.AsRefusal(err)
	switch {
	case err == nil:
		return judgement{state: pinReplaying}, nil
	case why == nil: // what came of it, the item tells
		return judgement{state: pinWaiting}, err
	case why.Kind == dlq.Changed:
		return judgement{state: pinWaiting}, nil // judged again next time
	}
	r.log.Info("bulk replay passes over a dead letter", zap.String("deadLetter", p.ID), zap.String("traceId", i.TraceID), zap.String("why", why.Detail))
	return judgement{pinSkipped, refusedFor(why), why.Kind == dlq.Orphaned}, nil
}
