package replayer

import (
	"context"
	"time"

	"outboxrelay/dlq/sibling"

	"outboxrelay/dlq"
)

// start hands what can be replayed now to workers, the first of each line, while
// their lanes have room. Nothing is read for that. It returns how long to wait until
// something else can be, unless an event tells earlier.
func (d *duty) start(ctx context.Context) time.Duration {
	now, wait := d.queue.Now(), d.cfg.Poll
	until := func(t time.Time) {
		if !t.IsZero() {
			wait = min(wait, max(t.Sub(now), pace))
		}
	}
	for _, l := range d.backlog.inTurn() {
		w := l.items[0]
		if d.room[w.item.Lane] >= d.cfg.Concurrency {
			continue
		}
		if w.pause.until.After(now) {
			until(w.pause.until)
			continue
		}
		if ok, at := d.parked.free(w.targets, now); !ok {
			until(at)
			if !at.IsZero() {
				d.tell(ctx, l, now)
			}
			continue
		}
		if !d.lanes.Owns(w.item) {
			d.backlog.remove(w.item.ID)
			d.meet(w.item)
			continue
		}
		if after := d.mayReplay(w.item); after > 0 {
			until(now.Add(after))
			continue
		}
		if !d.reachable(w.item) {
			d.parked.unreachable(w.targets, now)
			if len(w.targets) == 0 {
				d.parked.blocked(&w.pause, now)
			}
			until(now.Add(d.cfg.PauseMin))
			continue
		}
		d.take(ctx, l, now)
	}
	return wait
}

// mayReplay returns how long to wait until the rate of automatic replays allows for
// the item's; 0: it does now. What somebody asked for does not wait for it.
func (d *duty) mayReplay(i *dlq.Item) time.Duration {
	if d.limiter == nil || i.Replaying != nil || d.spare > 0 || d.limiter.Tokens() >= 1 {
		return 0
	}
	return time.Duration((1 - d.limiter.Tokens()) / float64(d.limiter.Limit()) * float64(time.Second))
}

// take lets a worker of its own replay the first of a line.
func (d *duty) take(ctx context.Context, l *line, now time.Time) {
	w := worked{line: l, waiting: l.items[0], lane: l.items[0].item.Lane, asked: l.items[0].item.Replaying != nil}
	switch {
	case d.limiter == nil || w.asked:
	case d.spare > 0:
		d.spare--
	default:
		d.limiter.Allow()
	}
	l.busy = true
	d.backlog.turns.had(w.waiting.item)
	d.room[w.lane]++
	d.parked.tries(w.waiting.targets, now)
	d.cfg.Metrics.running.WithLabelValues(string(d.tier)).Inc()
	item := w.waiting.item
	d.group.Go(func() error {
		return sibling.Guarded(func() error {
			defer d.cfg.Metrics.running.WithLabelValues(string(d.tier)).Dec()
			w.outcome = d.replay(ctx, item)
			d.cfg.Metrics.rounds.WithLabelValues(string(d.tier), string(w.outcome.fate)).Inc()
			select {
			case d.ended <- w:
			case <-ctx.Done():
			}
			return nil
		})
	})
}

// note takes down what became of an item. What is still due as it was is left
// alone for a while.
func (d *duty) note(w worked) {
	w.line.busy = false
	if d.room[w.lane]--; d.room[w.lane] == 0 {
		delete(d.room, w.lane)
	}
	out, now := w.outcome, d.queue.Now()
	if !out.tried && d.limiter != nil && !w.asked {
		d.spare = min(d.spare+1, d.limiter.Burst())
	}
	d.parked.told(w.waiting.targets, out.answered, out.blocked, now)
	if out.through() || out.fate == fateDropped && w.waiting.changed {
		d.backlog.remove(w.waiting.item.ID)
		return
	}
	w.waiting.changed = out.fate == fateDropped
	d.parked.blocked(&w.waiting.pause, now)
	if out.fate == fateBlocked && len(out.answered) > 0 {
		d.backlog.reached(w.waiting, out.answered)
	}
}

// outcome is what one try to replay an item came to.
type outcome struct {
	fate     fate
	tried    bool     // it came to a round
	answered []string // targets: they took the record, or refused it
	blocked  []string // targets that an outage kept from it
}

// through reports whether nothing of the item is due any more.
func (o outcome) through() bool {
	switch o.fate {
	case fateDelivered, fateFailed, fateExhausted, fateBehind:
		return true
	}
	return false
}
