package workqueue

import (
	"container/heap"
	"time"
)

// item is a document that waits here.
type item struct {
	state  state
	tenant string
	last   string    // path of the last that its tenant can have where it is
	at     time.Time // when it may be claimed, by this instance's clock
}

// line holds the documents that this instance knows of: those that may be claimed,
// by tenant, and those that are due later. It decides whose turn it is. It does no I/O,
// reads no clock and has no goroutine; its owner keeps calls apart.
type line struct {
	batch   int
	horizon time.Duration         // what is due later than this a later round brings
	most    int                   // items that are due later, at most
	tenants map[string]*tenantWay // those with something ready, or left behind
	wanting map[string]bool       // names of those that are hungry: see wants
	turns   []string              // tenants with something ready, in the order of their turns
	later   byTime
	waiting map[string]*item // by path: ready or later
	busy    map[string]*busy // by path
	ready   int
	full    int  // so many ready ones that a round brings no more for now
	stalled bool // a round waits for room
}

// tenantWay is one tenant's way to the workers.
type tenantWay struct {
	ready  []*item
	behind map[string]span // what is in Firestore and did not fit here: by the last path there, see leave
}

// busy is a document that a worker has.
type busy struct {
	offered *item // what was heard of it meanwhile
	gone    bool  // it was heard that it is pending no more
}

func newLine(batch int, horizon time.Duration) *line {
	return &line{
		batch: batch, horizon: horizon, most: 100 * batch, full: 1000 * batch,
		tenants: map[string]*tenantWay{}, wanting: map[string]bool{}, waiting: map[string]*item{}, busy: map[string]*busy{},
	}
}

// add takes a document that is open, and reports whether it is new here. One that
// does not fit is left to a later round.
func (l *line) add(it *item, now time.Time) bool {
	if b := l.busy[it.state.path]; b != nil {
		if it.state.pending { // else it is as the worker itself has it
			b.offered, b.gone = it, false
		}
		return false
	}
	if known := l.waiting[it.state.path]; known != nil {
		if !it.state.updated.After(known.state.updated) {
			return false
		}
		l.drop(known)
	}
	if it.at.After(now) {
		if it.at.Sub(now) <= l.horizon && l.later.Len() < l.most {
			l.waiting[it.state.path] = it
			heap.Push(&l.later, it)
			return true
		}
		return false
	}
	return l.queue(it)
}

// hear is add for a document that nobody had to make room for: where there is none it is left
// to a round, which waits for some.
func (l *line) hear(it *item, now time.Time) bool {
	if l.ready >= l.full && !l.knows(it.state.path) {
		return false
	}
	return l.add(it, now)
}

// queue puts what may be claimed into its tenant's line.
func (l *line) queue(it *item) bool {
	t := l.way(it.tenant)
	if len(t.ready) >= l.batch {
		l.leave(it.last, span{it.tenant, it.state.path, it.state.path})
		return false
	}
	if len(t.ready) == 0 {
		l.turns = append(l.turns, it.tenant)
	}
	t.ready = append(t.ready, it)
	l.weigh(it.tenant, t)
	l.waiting[it.state.path] = it
	l.ready++
	return true
}

// way is a tenant's way, made if there is none.
func (l *line) way(tenant string) *tenantWay {
	t := l.tenants[tenant]
	if t == nil {
		t = &tenantWay{}
		l.tenants[tenant] = t
	}
	return t
}

// drop forgets an item that waits.
func (l *line) drop(it *item) {
	delete(l.waiting, it.state.path)
	if t := l.tenants[it.tenant]; t != nil {
		for i, other := range t.ready {
			if other == it {
				t.ready = append(t.ready[:i], t.ready[i+1:]...)
				l.ready--
				l.weigh(it.tenant, t)
				l.turned(it.tenant, t)
				return
			}
		}
	}
	for i, other := range l.later {
		if other == it {
			heap.Remove(&l.later, i)
			return
		}
	}
}

// turned takes a tenant that has nothing ready out of the turns.
func (l *line) turned(name string, t *tenantWay) {
	if len(t.ready) > 0 {
		return
	}
	for i, other := range l.turns {
		if other == name {
			l.turns = append(l.turns[:i], l.turns[i+1:]...)
			break
		}
	}
	l.forget(name, t)
}

// forget forgets a tenant of which nothing is ready, and nothing left behind.
func (l *line) forget(name string, t *tenantWay) {
	if len(t.ready) == 0 && len(t.behind) == 0 {
		delete(l.tenants, name)
	}
}

// gone tells that a document is pending no more.
func (l *line) gone(path string) {
	if b := l.busy[path]; b != nil {
		b.gone, b.offered = true, nil
		return
	}
	if it := l.waiting[path]; it != nil && it.state.pending {
		l.drop(it)
	}
}

// next gives out the document whose turn it is, which is busy from now on; nil:
// none may be claimed, and the next may be after wait, or 0: nobody knows of one.
func (l *line) next(now time.Time) (it *item, wait time.Duration) {
	for l.later.Len() > 0 && !l.later[0].at.After(now) {
		due := heap.Pop(&l.later).(*item)
		delete(l.waiting, due.state.path)
		l.queue(due)
	}
	if len(l.turns) == 0 {
		if l.later.Len() > 0 {
			wait = l.later[0].at.Sub(now)
		}
		return nil, wait
	}
	name := l.turns[0]
	t := l.tenants[name]
	it, t.ready = t.ready[0], t.ready[1:]
	l.turns = l.turns[1:]
	l.ready--
	delete(l.waiting, it.state.path)
	l.busy[it.state.path] = &busy{}
	l.weigh(name, t)
	if len(t.ready) > 0 {
		l.turns = append(l.turns, name)
	}
	l.forget(name, t)
	return it, 0
}

// end tells that a worker has done with a document, and takes what was heard of it
// meanwhile, or again, what the worker itself knows of it.
func (l *line) end(path string, again *item, now time.Time) {
	b := l.busy[path]
	delete(l.busy, path)
	if b != nil && b.offered != nil && (again == nil || b.offered.state.updated.After(again.state.updated)) {
		again = b.offered
	}
	if again != nil {
		l.add(again, now)
	}
}

// isGone reports whether it was heard that a busy document is pending no more.
func (l *line) isGone(path string) bool { return l.busy[path] != nil && l.busy[path].gone }

// knows reports whether a document waits here, or is busy.
func (l *line) knows(path string) bool { return l.waiting[path] != nil || l.busy[path] != nil }

// stall reports whether a round has to wait for room, and remembers that it does.
func (l *line) stall() bool {
	l.stalled = l.ready >= l.full
	return l.stalled
}

// resumes reports whether a round that waits may go on.
func (l *line) resumes() bool { return l.stalled && l.ready < l.full }

// byTime is a heap of what is due later.
type byTime []*item

func (h byTime) Len() int           { return len(h) }
func (h byTime) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h byTime) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byTime) Push(x any)        { *h = append(*h, x.(*item)) }
func (h *byTime) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
