package replayer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/sibling"
)

// Replayer replays the dead letters of one tier that are due, of this instance's
// outboxes: those of SAFE_AUTO by their schedule, at most so many in a second as
// the catalog says, and those of each tier when somebody asks.
type Replayer struct {
	queue   Queue
	lanes   Lanes
	tier    contracts.Tier
	limiter *rate.Limiter // of replays that nobody asked for; nil: there are none
	cfg     Config
	log     *zap.Logger
	bell    <-chan struct{}
	wake    chan struct{} // a listener says that something may be due
	notes   chan struct{} // holds a token of each note under way
}

// New makes a Replayer. It does nothing until Run.
func New(q Queue, lanes Lanes, tier contracts.Tier, cfg Config) (*Replayer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("make replayer: %w", err)
	}
	cfg = cfg.withDefaults()
	r := &Replayer{
		queue: q, lanes: lanes, tier: tier, cfg: cfg, log: cfg.Log.With(zap.String("tier", string(tier))),
		bell: q.Hear(dlq.BellReplays), wake: make(chan struct{}, 1), notes: make(chan struct{}, notesAtOnce),
	}
	if tier == contracts.SafeAuto {
		perSecond := q.Catalog().Replay.RatePerSecond
		r.limiter = rate.NewLimiter(rate.Limit(perSecond), max(1, int(math.Ceil(perSecond))))
	}
	return r, nil
}

// Run replays until ctx ends. All that it started has ended then. An error is
// a fault of the program: outages are waited through.
func (r *Replayer) Run(ctx context.Context) error {
	return sibling.Together(ctx, "replayer", append(r.listeners(), r.work)...)
}

// watched is how many of the first due dead letters a listener shows: what a
// person asks for on another instance comes among them, unless so many are late.
const watched = 20

// listeners wake work.
func (r *Replayer) listeners() (all []func(context.Context) error) {
	listen := func(watch sibling.Watch) {
		all = append(all, func(ctx context.Context) error {
			return sibling.Wake(ctx, r.cfg.Config, contracts.CollectionDeadLetters, watch, r.wake)
		})
	}
	var outboxes []string
	for _, o := range r.queue.Catalog().Outboxes {
		outboxes = append(outboxes, o.Name)
	}
	for some := range slices.Chunk(outboxes, dlq.MaxWatched) {
		listen(func(ctx context.Context, heard func()) error {
			return r.queue.WatchDue(ctx, r.tier, some, watched, heard)
		})
		if r.someUnasked() {
			listen(func(ctx context.Context, heard func()) error {
				return r.queue.WatchAsked(ctx, r.tier, some, watched, heard)
			})
		}
	}
	return all
}

// someUnasked reports whether there are replays that nobody asked for, behind
// which those that somebody did must not wait.
func (r *Replayer) someUnasked() bool { return r.limiter != nil }

// work replays what is due. It ends with ctx, when every replay that it began has
// ended.
func (r *Replayer) work(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	d := &duty{
		Replayer: r, group: g, backlog: newBacklog(r.queue.Catalog(), r.cfg.Concurrency), parked: newParking(r.cfg.PauseMin, r.cfg.PauseMax),
		delay: sibling.NewPatience(r.cfg.RetryMin, r.cfg.RetryMax), room: make(map[contracts.Lane]int), ended: make(chan worked),
		look: newLooking(),
	}
	g.Go(func() error { return sibling.Guarded(func() error { d.loop(ctx); return nil }) })
	return g.Wait()
}
