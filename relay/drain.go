package relay

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"
)

// A drain brings back what was left behind the gates of targets that answer
// again. It reads the pages between the oldest and the youngest of them, small ones
// first: the next is twice as large, and comes once half of the last is through,
// as long as the target answers. So a target that comes back is not run over, and
// one that answers only now and then costs no more reads than it takes records.

// leastDrain is the size of a drain's first page, in documents.
const leastDrain = 32

// drainLoop drains the gates of a feed until ctx ends.
func (r *reader) drainLoop(ctx context.Context) error {
	delay := newRetryDelay(r.outbox.tuning.ListenBackoff, r.outbox.tuning.ListenBackoffMax)
	for ctx.Err() == nil {
		g := r.feed.nextDrain()
		if g == nil {
			select {
			case <-r.feed.drains:
			case <-ctx.Done():
			}
			continue
		}
		var wait <-chan struct{}
		err := r.outbox.guard.do(partDrain, func() (err error) { wait, err = r.drain(ctx, g); return err })
		if err != nil && ctx.Err() == nil {
			r.outbox.metrics.readErrors.WithLabelValues(r.outbox.spec.Name, string(r.feed.lane)).Inc()
			r.log.Warn("read back what waited for a target", zap.String("target", g.target), zap.Error(err))
			delay.sleep(ctx)
			continue
		}
		delay.reset()
		if wait != nil {
			select {
			case <-wait:
			case <-time.After(leavingRecheck): // it may be gone on another way
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// drain brings back one page of what is left behind g. A channel says that it has
// to be read again once that is closed.
func (r *reader) drain(ctx context.Context, g *gate) (wait <-chan struct{}, err error) {
	if err := r.feed.waitRoom(ctx); err != nil {
		return nil, err
	}
	after, last, limit := r.feed.beginDrain(g)
	end := after
	defer func() { r.feed.endDrain(g, end) }()
	var docs []Doc
	var next Position
	err = r.outbox.pacers[r.feed.lane].page(ctx, func() (err error) {
		docs, next, err = r.drainPage(ctx, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	if wait, err = r.bringBack(ctx, g, docs, last); err == nil && wait == nil {
		end = next
	}
	return wait, err
}

// drainPage reads whole commits, the first after a position and at least limit
// documents if there are. end is the place behind them.
func (r *reader) drainPage(ctx context.Context, after Position, limit int) (docs []Doc, end Position, err error) {
	slots := r.outbox.pageSlots[r.feed.lane]
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return nil, Position{}, ctx.Err()
	}
	scan := r.scan
	scan.After, scan.Limit = after, r.feed.pageLimit(limit)
	for {
		r.outbox.metrics.pages.WithLabelValues(r.outbox.spec.Name, string(r.feed.lane)).Inc()
		page, err := r.outbox.store.Page(ctx, scan)
		if err != nil {
			return nil, Position{}, err
		}
		docs = append(docs, page...)
		if len(page) < scan.Limit {
			return docs, endOfTime, nil
		}
		scan.After = page[len(page)-1].position()
		if complete, _ := cutLastGroup(docs); len(complete) > 0 {
			return complete, complete[len(complete)-1].position(), nil
		}
	}
}

// endOfTime is behind every document.
var endOfTime = Position{At: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), ID: "~"}

// bringBack takes those of docs into memory that need g's target, up to last: what
// comes behind was not left there. A channel says that one has to be read again
// once it is closed: what was read of it is older than what is being written.
func (r *reader) bringBack(ctx context.Context, g *gate, docs []Doc, last Position) (wait <-chan struct{}, err error) {
	entries := make([]*entry, 0, len(docs))
	for _, d := range docs {
		if isCanary(d) || last.before(d.position()) {
			continue
		}
		d, c, left := r.outbox.consider(ctx, d, r.feed)
		switch c {
		case considerWait:
			return left, nil
		case considerKnown:
			if !r.feed.passHeld(g, d.ID) {
				return make(chan struct{}), nil
			}
		case considerTake, considerDoubt:
			entries = append(entries, r.outbox.newEntry(d, r.feed))
		}
	}
	slices.SortStableFunc(entries, byVersion)
	for _, e := range entries {
		if err := r.feed.waitRoom(ctx); err != nil {
			return nil, err
		}
		switch c, left := r.feed.consider(e.doc); c { // it may have come another way meanwhile
		case considerWait:
			return left, nil
		case considerKnown:
			if !r.feed.passHeld(g, e.doc.ID) {
				return make(chan struct{}), nil
			}
			continue
		case considerTake, considerDoubt:
		}
		switch r.feed.admitBack(e, g) {
		case admitted:
			r.outbox.submit(e)
		case early:
			if left := r.feed.afterLeaving(e); left != nil {
				return left, nil
			}
			return closed, nil
		}
	}
	return nil, nil
}

// closed is a channel that is.
var closed = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// nextDrain returns a gate whose next page may be brought back; nil when there is
// none for now.
func (f *feed) nextDrain() *gate {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	var next *gate
	for _, g := range f.gates {
		if g.target == "" || g.emptied() || !g.draining && !g.another {
			continue
		}
		if g.draining && g.underWay() > max(g.size, leastDrain)/2 {
			continue
		}
		if next == nil || g.from.before(next.from) {
			next = g
		}
	}
	return next
}

// underWay counts the records with a pass that the target has not answered yet. One
// that failed there for itself waits for its retry, and for nobody else.
func (g *gate) underWay() int {
	n := 0
	for e := range g.passes {
		if e.awaits || !e.resting {
			n++
		}
	}
	return n
}

// waits reports whether a record with a pass waits for the target to answer again:
// not behind one of its aggregate that waits for its own retry.
func (g *gate) waits() bool {
	own := make(map[string]bool)
	for e := range g.passes {
		if e.resting && !e.awaits {
			own[e.task.Aggregate] = true
		}
	}
	for e := range g.passes {
		if e.awaits && !own[e.task.Aggregate] {
			return true
		}
	}
	return false
}

// beginDrain begins a page of g: after which place to read, up to where records
// were left behind, and how many documents.
func (f *feed) beginDrain(g *gate) (after, last Position, limit int) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	if g.size = max(g.size, leastDrain); !g.draining {
		g.size = leastDrain
	}
	g.another, g.paging, g.back = false, true, Position{}
	return g.from, g.last, g.size
}

// endDrain ends a page of g that was brought back up to a place.
func (f *feed) endDrain(g *gate, end Position) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	moved := g.from.before(end)
	g.paging = false
	if g.last.before(end) {
		end = g.last
	}
	if g.from.before(end) {
		g.from = end
	}
	if !g.back.Zero() && g.back.before(g.from) {
		g.from = g.back
	}
	if moved && g.draining {
		g.size = min(2*g.size, max(leastDrain, f.capacity/2))
	}
	f.probeLocked(g)
	f.endLocked(g)
}

// passHeld gives a record that a page shows and that is in memory its pass; not if
// an older one of its aggregate is leaving, which no query may show before that is
// written. It reports false for one that left memory for good, as far as the page
// can tell, and still is behind the gate: the page is older than what was written.
func (f *feed) passHeld(g *gate, id string) bool {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	_, left := g.left[id]
	return f.passLocked(g, id) || !left
}

// passLocked reports whether the record is in memory.
func (f *feed) passLocked(g *gate, id string) bool {
	e := f.ledger.held[id]
	if e != nil && e.feed == f && !f.ledger.overtakesLocked(e) && !g.outdated(e.position()) {
		g.pass(e)
	}
	return e != nil
}

// outdated reports whether the page that is being brought back is too old to tell
// of the records at p: an older one was left behind since it was read.
func (g *gate) outdated(p Position) bool { return !g.back.Zero() && !p.before(g.back) }

// admitBack takes a record into memory that was left behind g, with a pass; or
// leaves it behind its aggregate's gate. What is outdated comes with another page.
func (f *feed) admitBack(e *entry, g *gate) admission {
	l := f.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	_, left := g.left[e.doc.ID]
	if l.held[e.doc.ID] != nil {
		f.passLocked(g, e.doc.ID)
		return known
	}
	if l.settled.consider(e.doc, f) == considerKnown { // it came another way since it was read
		if left {
			return early
		}
		return known
	}
	if len(l.leaving[e.task.Aggregate]) > 0 {
		return early
	}
	considered := left || g.more > 0 && (f.live || f.cursor.covers(e.position()))
	if len(e.faults) > 0 || !considered || !slices.Contains(e.missing(), g.target) {
		return known // the feed sees to it, or has not come to it
	}
	if g.outdated(e.position()) {
		return outdated
	}
	if l.standings[e.rec.AggregateID].shut() {
		f.leaveAtLocked(freezeGate(e.rec.AggregateID), e)
		return deferred
	}
	if behind := f.gates[aggregateGate(e.task.Aggregate)]; behind != nil {
		behind.leave(e)
		return deferred
	}
	l.admitLocked(e)
	g.pass(e)
	if !left {
		g.more--
	}
	return admitted
}

// probesFail tells that e, with a pass, failed for itself while the target is out:
// it may be no good probe, so that the gate brings back a few more. Enough of them
// tell.
func (f *feed) probesFail(target string, e *entry) {
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	if g := f.gates[targetGate(target)]; g != nil && g.passed(e) && len(g.passes) < mostProbes && g.from.before(g.last) {
		g.another = true
		signal(f.drains)
	}
}

// mostProbes is how many records at most are brought back to probe a target that
// fails them all.
const mostProbes = 64
