package dlq

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"outboxrelay/contracts"
)

// executor replays what is due of one tier, of this instance's outboxes: its
// goroutine of that tier.
type executor struct {
	queue   *Queue
	lanes   Lanes
	tier    contracts.Tier
	limiter *rate.Limiter // of replays that nobody asked for; nil: none
	cfg     SiblingConfig
	log     *zap.Logger
	bell    <-chan struct{}
	wake    chan struct{} // a listener says that something may be due
}

// newExecutor expects cfg with its defaults.
func newExecutor(q *Queue, lanes Lanes, tier contracts.Tier, limiter *rate.Limiter, cfg SiblingConfig) *executor {
	return &executor{
		queue: q, lanes: lanes, tier: tier, limiter: limiter, cfg: cfg, log: cfg.Log.With(zap.String("tier", string(tier))),
		bell: q.Hear(BellReplays), wake: make(chan struct{}, 1),
	}
}

// watched is how many of the first due dead letters a listener shows: what a
// person asks for on another instance comes among them, unless so many are late.
const watched = 20

// parts is what runs side by side.
func (x *executor) parts() []func(context.Context) error {
	parts := []func(context.Context) error{x.run}
	var outboxes []string
	for _, o := range x.queue.catalog.Outboxes {
		outboxes = append(outboxes, o.Name)
	}
	for some := range slices.Chunk(outboxes, maxIn) {
		parts = append(parts, func(ctx context.Context) error {
			return wakeOn(ctx, x.queue.store, dueQuery(x.tier, some, watched, hasTime()), x.wake, x.cfg)
		})
	}
	return parts
}

// run ends with ctx, when every replay that it began has ended.
func (x *executor) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	d := &duty{
		executor: x, group: g, parked: newParking(x.cfg.PauseMin, x.cfg.PauseMax), delay: newPatience(x.cfg.RetryMin, x.cfg.RetryMax),
		taken: make(map[string]bool), busy: make(map[lineKey]bool), room: make(map[contracts.Lane]int), ended: make(chan worked),
	}
	g.Go(func() error { return guarded(func() error { d.loop(ctx); return nil }) })
	return g.Wait()
}

const (
	// gap is the least time between two looks: many bells are one.
	gap = 50 * time.Millisecond
	// maxDue bounds the dead letters that one look reads.
	maxDue = 1000
	// fullLook is how often a look goes through all that is due. Those between
	// begin where the one before ended: what is being replayed stays due until it
	// has ended, and each look would read it again.
	fullLook = 2 * time.Second
	// overlap is how far such a look goes back: requests that are made at the
	// same time are not written in the order of their times.
	overlap = 250 * time.Millisecond
	// putOffAtOnce is how many are put off when a look is full of such as cannot be replayed now.
	putOffAtOnce = 100
)

// duty is what the executor's loop knows. It is used by that goroutine alone.
type duty struct {
	*executor
	group  *errgroup.Group // of the workers
	parked *parking
	delay  patience // between failed looks
	taken  map[string]bool
	busy   map[lineKey]bool
	room   map[contracts.Lane]int // slots taken
	ended  chan worked
	looked time.Time // the last look
	full   time.Time // the last look at all that is due
	fullAt time.Time // the same, by the queue's clock
	seen   time.Time // the time of the last dead letter that a look showed
	left   int       // due ones of it for which there was no room
	more   bool      // it left something, or did not show all
}

// worked is a line that its worker is through with.
type worked struct {
	line  *line
	lane  contracts.Lane
	fates map[string]fate
}

func (d *duty) loop(ctx context.Context) {
	for ctx.Err() == nil {
		wait := d.look(ctx)
		d.await(ctx, d.looked.Add(wait))
	}
}

// await waits until then, or for a reason to look earlier.
func (d *duty) await(ctx context.Context, then time.Time) {
	timer := time.NewTimer(time.Until(then))
	defer timer.Stop()
	sooner := func(after time.Duration) {
		if t := d.looked.Add(after); t.Before(then) {
			then = t
			timer.Reset(time.Until(then))
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-d.bell:
			d.parked.rung(d.queue.now())
			sooner(gap)
		case <-d.wake:
			sooner(gap)
		case w := <-d.ended:
			d.note(w)
			if d.more {
				sooner(2 * gap)
			}
		}
	}
}

// look reads what is due and starts what there is room for. It returns how long
// to wait until the next look.
func (d *duty) look(ctx context.Context) time.Duration {
	d.looked = time.Now()
	now := d.queue.now()
	held, freed := d.parked.look(now)
	limit := min(len(d.taken)+held+d.left+d.cfg.Concurrency, maxDue)
	c, cancel := context.WithTimeout(ctx, d.cfg.CallBound)
	since := d.since(now)
	items, next, err := d.queue.Due(c, d.tier, d.lanes.Owned(), since, limit)
	cancel()
	if err != nil {
		if ctx.Err() == nil {
			d.cfg.Metrics.failures.WithLabelValues(string(d.tier)).Inc()
			d.log.Warn("look for due dead letters", zap.Error(err))
		}
		return d.delay.next()
	}
	d.delay.reset()
	if since.IsZero() {
		d.full, d.fullAt = d.looked, now
	}
	if len(items) > 0 {
		d.seen = items[len(items)-1].NextReplayAt
	}
	idle := slices.DeleteFunc(slices.Clone(items), func(i *Item) bool {
		return d.taken[i.ID] || d.parked.holds(i.ID, now) || !d.lanes.Owns(i)
	})
	started := d.start(ctx, linesOf(idle))
	d.left = len(idle) - started
	cut := len(items) == limit
	if !since.IsZero() && cut && started == 0 {
		d.seen = time.Time{} // look at all of it
		return gap
	}
	d.more = cut || d.left > 0
	switch {
	case cut && started == 0 && limit < maxDue:
		return gap // nothing of it can be replayed now: look beyond it
	case cut && started == 0:
		d.putOff(ctx, items, now)
	}
	wait := d.cfg.Poll
	if !since.IsZero() {
		wait = min(wait, fullLook)
	}
	for _, t := range []time.Time{next, freed} {
		if t.After(now) {
			wait = min(wait, t.Sub(now))
		}
	}
	return max(wait, gap)
}

// since is where a look begins; zero: at the longest due. Once the pause of a
// parked one has ended, and while there was no room for others, all are looked at.
func (d *duty) since(now time.Time) time.Time {
	if d.seen.IsZero() || d.left > 0 || d.parked.freed(d.fullAt, now) || d.looked.Sub(d.full) >= fullLook {
		return time.Time{}
	}
	return d.seen.Add(-overlap)
}

// start hands lines to workers, each its own, while their lanes have room. It
// returns how many items that were.
func (d *duty) start(ctx context.Context, lines []*line) (started int) {
	for _, l := range lines {
		lane := l.items[0].Lane
		if d.busy[l.key] || d.room[lane] >= d.cfg.Concurrency {
			continue
		}
		started += len(l.items)
		d.take(ctx, l, lane, d.work)
	}
	return started
}

// putOff moves dead letters out of the way of what is due behind them: a
// sick target or a paused lane must not hide what can be replayed.
func (d *duty) putOff(ctx context.Context, items []*Item, now time.Time) {
	idle := slices.DeleteFunc(slices.Clone(items), func(i *Item) bool { return d.taken[i.ID] || !d.lanes.Owns(i) })
	for _, l := range linesOf(idle[:min(len(idle), putOffAtOnce)]) {
		if d.busy[l.key] {
			continue
		}
		d.take(ctx, l, l.items[0].Lane, func(ctx context.Context, l *line) map[string]fate {
			out := make(map[string]fate)
			for _, i := range l.items {
				out[i.ID] = d.deferTo(ctx, i, now.Add(d.cfg.PauseMax))
			}
			return out
		})
	}
}

// take lets a worker of its own do work with the line.
func (d *duty) take(ctx context.Context, l *line, lane contracts.Lane, work func(context.Context, *line) map[string]fate) {
	for _, i := range l.items {
		d.taken[i.ID] = true
	}
	d.busy[l.key] = true
	d.room[lane]++
	d.cfg.Metrics.running.WithLabelValues(string(d.tier)).Inc()
	d.group.Go(func() error {
		return guarded(func() error {
			defer d.cfg.Metrics.running.WithLabelValues(string(d.tier)).Dec()
			w := worked{line: l, lane: lane, fates: work(ctx, l)}
			select {
			case d.ended <- w:
			case <-ctx.Done():
			}
			return nil
		})
	})
}

// note takes down what became of a line. What is still due as it was is left
// alone for a while.
func (d *duty) note(w worked) {
	delete(d.busy, w.line.key)
	if d.room[w.lane]--; d.room[w.lane] == 0 {
		delete(d.room, w.lane)
	}
	now := d.queue.now()
	for _, i := range w.line.items {
		delete(d.taken, i.ID)
		switch w.fates[i.ID] {
		case fateDelivered, fateFailed, fateExhausted, fateBehind:
			d.parked.gone(i.ID)
		default:
			d.parked.blocked(i.ID, now)
		}
	}
}
