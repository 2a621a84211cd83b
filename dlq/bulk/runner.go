package bulk

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/sibling"
)

// Runner runs the bulk replays, on the instance that leads.
type Runner struct {
	queue Queue
	cfg   Config
	bell  <-chan struct{}
	again chan struct{} // one has ended: another may have its place

	mu     sync.Mutex
	runs   map[string]*run      // at work, by ID
	asking map[string]bool      // those of them that have a place, by ID
	ended  map[string]time.Time // runs, by ID: what was read before that tells nothing
}

// New makes a Runner. It does nothing until Run.
func New(q Queue, cfg Config) (*Runner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("make runner of bulk replays: %w", err)
	}
	return &Runner{
		queue: q, cfg: cfg.withDefaults(), bell: q.Hear(dlq.BellBulk), again: make(chan struct{}, 1), runs: make(map[string]*run), asking: make(map[string]bool), ended: make(map[string]time.Time),
	}, nil
}

const (
	// bulksAtOnce bounds the bulk replays that have something to ask for; others wait
	// for a place.
	bulksAtOnce = 4
	// endedAtOnce bounds the runs beyond which those that ended already, and of
	// which something is under way yet, are not taken up.
	endedAtOnce = 10 * bulksAtOnce
)

// Run works until ctx ends. All that it started has ended then, and what it left is
// taken up by the next Runner. An error is a fault of the program: outages are waited
// through.
func (r *Runner) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		for {
			select {
			case <-r.bell:
				r.news()
			case <-ctx.Done():
				return nil
			}
		}
	})
	g.Go(func() error { return sibling.Guarded(func() error { return r.listen(ctx) }) })
	g.Go(func() error {
		return sibling.Guarded(func() error {
			return sibling.Rounds(ctx, r.again, r.cfg.Config, "look for bulk replays", func(ctx context.Context) error { return r.takeUp(ctx, g) })
		})
	})
	return g.Wait()
}

// news wakes whoever may have something to do: a bulk replay was made, or
// cancelled.
func (r *Runner) news() {
	r.knockAll()
	sibling.Knock(r.again)
}

// listen hears of what is made and cancelled on other instances. The progress of
// the runs, which is saved all the time, is no news.
func (r *Runner) listen(ctx context.Context) error {
	var before []string
	return sibling.Listen(ctx, r.cfg.Config, contracts.CollectionReplays, func(ctx context.Context, heard func()) error {
		return r.queue.WatchUnsettled(ctx, func(bulks []*dlq.Bulk) {
			heard()
			var now []string
			for _, b := range bulks {
				now = append(now, b.ID+" "+string(b.State))
			}
			if !slices.Equal(before, now) {
				before = now
				r.news()
			}
		})
	})
}

func (r *Runner) knockAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.runs {
		sibling.Knock(run.wake)
	}
}

// takeUp begins what nobody works at, the oldest first. It looks at all that are
// not through, as those that wait for a target may be many.
func (r *Runner) takeUp(ctx context.Context, g *errgroup.Group) error {
	if !r.cfg.Leads() {
		return nil
	}
	asOf := time.Now()
	unsettled, err := r.find(ctx)
	if err != nil {
		return err
	}
	defer r.forget(asOf)
	for _, b := range unsettled {
		run, ok := r.claim(b, asOf)
		if !ok {
			continue
		}
		g.Go(func() error {
			r.cfg.Metrics.running.Inc()
			defer r.cfg.Metrics.running.Dec()
			defer r.release(run)
			return sibling.Guarded(func() error { return run.work(ctx) })
		})
	}
	return nil
}

// find reads the bulk replays that are not through.
func (r *Runner) find(ctx context.Context) ([]*dlq.Bulk, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	return r.queue.Unsettled(ctx)
}

// claim makes a run of a bulk replay that nobody works at, as it was read at a moment or
// later, if there is a place for it. One that asks for nothing any more needs none.
func (r *Runner) claim(b *dlq.Bulk, asOf time.Time) (*run, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended[b.ID].After(asOf) {
		return nil, false // it may be through
	}
	if !b.State.Known() {
		return nil, false // another version goes on with it
	}
	asks := b.State == dlq.BulkRunning
	if r.runs[b.ID] != nil || asks && len(r.asking) >= bulksAtOnce || !asks && len(r.runs) >= endedAtOnce {
		return nil, false
	}
	run := newRun(r.queue, r.cfg, b)
	run.place = func(wants bool) bool { return r.place(b.ID, wants) }
	r.runs[b.ID] = run
	if asks {
		r.asking[b.ID] = true
	}
	return run, true
}

// place takes or gives back a run's place among those that have something to ask
// for, and reports whether it has one.
func (r *Runner) place(id string, wants bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch had := r.asking[id]; {
	case had && !wants:
		delete(r.asking, id)
		sibling.Knock(r.again)
	case !had && wants && len(r.asking) < bulksAtOnce:
		r.asking[id] = true
	}
	return r.asking[id]
}

func (r *Runner) release(run *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, run.bulk.ID)
	delete(r.asking, run.bulk.ID)
	r.ended[run.bulk.ID] = time.Now()
	sibling.Knock(r.again)
}

// forget forgets the runs that had ended before all that is read from now on.
func (r *Runner) forget(asOf time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.ended, func(_ string, at time.Time) bool { return at.Before(asOf) })
}
