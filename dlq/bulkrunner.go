package dlq

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

// bulkRunner runs the bulk replays, on the instance that leads.
type bulkRunner struct {
	queue *Queue
	cfg   SiblingConfig
	bell  <-chan struct{}
	again chan struct{} // one has ended: another may have its place

	mu   sync.Mutex
	runs map[string]*bulkRun // at work, by ID
}

func newBulkRunner(q *Queue, cfg SiblingConfig) *bulkRunner {
	return &bulkRunner{queue: q, cfg: cfg, bell: q.Hear(BellBulk), again: make(chan struct{}, 1), runs: make(map[string]*bulkRun)}
}

// bulksAtOnce bounds the bulk replays at work; others wait for a place.
const bulksAtOnce = 4

// run works until ctx ends. What it left is taken up by the next run.
func (r *bulkRunner) run(ctx context.Context) error {
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
	g.Go(func() error { return guarded(func() error { return r.listen(ctx) }) })
	g.Go(func() error {
		return guarded(func() error {
			return rounds(ctx, r.again, r.cfg, "look for bulk replays", func(ctx context.Context) error { return r.takeUp(ctx, g) })
		})
	})
	return g.Wait()
}

// news wakes whoever may have something to do: a bulk replay was made, or
// cancelled.
func (r *bulkRunner) news() {
	r.knockAll()
	knock(r.again)
}

// listen hears of what is made and cancelled on other instances. The progress of
// the runs, which is saved all the time, is no news.
func (r *bulkRunner) listen(ctx context.Context) error {
	var before []string
	return listenOn(ctx, r.queue.store, unsettled, r.cfg, func(docs []Doc) {
		var now []string
		for _, d := range docs {
			b := decodeBulk(d)
			now = append(now, b.ID+" "+b.CancelledBy)
		}
		if !slices.Equal(before, now) {
			before = now
			r.news()
		}
	})
}

func (r *bulkRunner) knockAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.runs {
		knock(run.wake)
	}
}

// unsettled finds the bulk replays that are not through.
var unsettled = Query{
	Collection: contracts.CollectionReplays, Where: []Where{{bulkSettled, "==", false}}, OrderBy: []Order{{Field: FieldID}}, Limit: 10 * bulksAtOnce,
}

// takeUp begins what nobody works at, the oldest first.
func (r *bulkRunner) takeUp(ctx context.Context, g *errgroup.Group) error {
	if !r.cfg.Leads() {
		return nil
	}
	c, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	docs, err := r.queue.store.Query(c, unsettled)
	if err != nil {
		return fmt.Errorf("find bulk replays: %w", err)
	}
	for _, d := range docs {
		run, ok := r.claim(d)
		if !ok {
			continue
		}
		g.Go(func() error {
			r.cfg.Metrics.bulkRunning.Inc()
			defer r.cfg.Metrics.bulkRunning.Dec()
			defer r.release(run)
			return guarded(func() error { return run.run(ctx) })
		})
	}
	return nil
}

func (r *bulkRunner) claim(d Doc) (*bulkRun, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs[d.ID] != nil || len(r.runs) >= bulksAtOnce {
		return nil, false
	}
	run := newBulkRun(r.queue, r.cfg, decodeBulk(d))
	r.runs[d.ID] = run
	return run, true
}

func (r *bulkRunner) release(run *bulkRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, run.bulk.ID)
	knock(r.again)
}
