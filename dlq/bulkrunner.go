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

	mu     sync.Mutex
	runs   map[string]*bulkRun // at work, by ID
	asking map[string]bool     // those of them that have a place, by ID
}

func newBulkRunner(q *Queue, cfg SiblingConfig) *bulkRunner {
	return &bulkRunner{queue: q, cfg: cfg, bell: q.Hear(BellBulk), again: make(chan struct{}, 1), runs: make(map[string]*bulkRun), asking: make(map[string]bool)}
}

const (
	// bulksAtOnce bounds the bulk replays that have something to ask for; others wait
	// for a place.
	bulksAtOnce = 4
	// endedAtOnce bounds the runs beyond which those that ended already, and of
	// which something is under way yet, are not taken up.
	endedAtOnce = 10 * bulksAtOnce
)

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
	Collection: contracts.CollectionReplays, Where: []Where{{bulkSettled, "==", false}}, OrderBy: []Order{{Field: FieldID}}, Limit: endedAtOnce,
}

// takeUp begins what nobody works at, the oldest first. It looks at all that are
// not through, as those that wait for a target may be many.
func (r *bulkRunner) takeUp(ctx context.Context, g *errgroup.Group) error {
	if !r.cfg.Leads() {
		return nil
	}
	docs, err := r.find(ctx)
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

// find reads the bulk replays that are not through.
func (r *bulkRunner) find(ctx context.Context) (all []Doc, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	query := unsettled
	for {
		docs, err := r.queue.store.Query(ctx, query)
		if err != nil {
			return nil, err
		}
		if all = append(all, docs...); len(docs) < query.Limit {
			return all, nil
		}
		query.StartAfter = []any{docs[len(docs)-1].ID}
	}
}

// claim makes a run of a bulk replay that nobody works at, if there is a place for
// it. One that asks for nothing any more needs none.
func (r *bulkRunner) claim(d Doc) (*bulkRun, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := decodeBulk(d)
	asks := b.State == BulkRunning
	if r.runs[b.ID] != nil || asks && len(r.asking) >= bulksAtOnce || !asks && len(r.runs) >= endedAtOnce {
		return nil, false
	}
	run := newBulkRun(r.queue, r.cfg, b)
	run.place = func(wants bool) bool { return r.place(b.ID, wants) }
	r.runs[b.ID] = run
	if asks {
		r.asking[b.ID] = true
	}
	return run, true
}

// place takes or gives back a run's place among those that have something to ask
// for, and reports whether it has one.
func (r *bulkRunner) place(id string, wants bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch had := r.asking[id]; {
	case had && !wants:
		delete(r.asking, id)
		knock(r.again)
	case !had && wants && len(r.asking) < bulksAtOnce:
		r.asking[id] = true
	}
	return r.asking[id]
}

func (r *bulkRunner) release(run *bulkRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, run.bulk.ID)
	delete(r.asking, run.bulk.ID)
	knock(r.again)
}
