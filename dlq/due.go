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
		queries := []Query{dueQuery(x.tier, some, watched, hasTime())}
		if x.someUnasked() {
			queries = append(queries, askedQuery(x.tier, some, anyTime, watched))
		}
		for _, query := range queries {
			parts = append(parts, func(ctx context.Context) error { return wakeOn(ctx, x.queue.store, query, x.wake, x.cfg) })
		}
	}
	return parts
}

// someUnasked reports whether there are replays that nobody asked for, behind
// which those that somebody did must not wait.
func (x *executor) someUnasked() bool { return x.limiter != nil }

// run ends with ctx, when every replay that it began has ended.
func (x *executor) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	d := &duty{
		executor: x, group: g, backlog: newBacklog(x.queue.catalog, x.cfg.Concurrency), parked: newParking(x.cfg.PauseMin, x.cfg.PauseMax),
		delay: newPatience(x.cfg.RetryMin, x.cfg.RetryMax), room: make(map[contracts.Lane]int), ended: make(chan worked),
		look: newLooking(),
	}
	g.Go(func() error { return guarded(func() error { d.loop(ctx); return nil }) })
	return g.Wait()
}

const (
	// gap is the least time between two looks: many bells are one.
	gap = 50 * time.Millisecond
	// pace is the least time between two rounds through the backlog.
	pace = 10 * time.Millisecond
)

// duty is what the executor's loop knows. It is used by that goroutine alone.
type duty struct {
	*executor
	group   *errgroup.Group // of the workers
	backlog *backlog
	parked  *parking
	delay   patience               // between failed looks
	room    map[contracts.Lane]int // slots taken
	spare   int                    // replays of the rate that came to none
	ended   chan worked
	look    *looking

	lookAt, startAt time.Time // when to do so next
	looked, started time.Time // the last time
}

// worked is an item that its worker is through with.
type worked struct {
	line    *line
	waiting *waiting
	lane    contracts.Lane
	asked   bool
	outcome outcome
}

// loop reads what is due when there is reason to, and starts what can be replayed
// of what is known.
func (d *duty) loop(ctx context.Context) {
	for ctx.Err() == nil {
		if !time.Now().Before(d.lookAt) {
			d.looked = time.Now()
			d.lookAt = d.looked.Add(d.lookAround(ctx))
		}
		d.started = time.Now()
		d.startAt = d.started.Add(d.start(ctx))
		if _, _, short := d.backlog.short(); short {
			d.lookBy(gap)
		}
		d.await(ctx)
	}
}

// lookBy has the next look at most so long after the last.
func (d *duty) lookBy(after time.Duration) {
	if t := d.looked.Add(after); t.Before(d.lookAt) {
		d.lookAt = t
	}
}

// startBy has the next round through the backlog at most so long after the last.
func (d *duty) startBy(after time.Duration) {
	if t := d.started.Add(after); t.Before(d.startAt) {
		d.startAt = t
	}
}

// await waits for the next look, or the next start.
func (d *duty) await(ctx context.Context) {
	then := earlier(d.lookAt, d.startAt)
	timer := time.NewTimer(time.Until(then))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-d.bell:
			now := d.queue.now()
			d.parked.rung(now)
			d.backlog.rung(d.parked, now)
			d.lookBy(gap)
			d.startBy(gap)
		case <-d.wake: // often several listeners tell of the same
			d.lookAt = earlier(d.lookAt, time.Now().Add(gap))
		case w := <-d.ended:
			d.note(w)
			d.startBy(pace)
		}
		if t := earlier(d.lookAt, d.startAt); t.Before(then) {
			then = t
			timer.Reset(time.Until(then))
		}
	}
}
