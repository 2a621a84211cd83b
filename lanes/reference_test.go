package lanes

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// reference is the pool as plainly as it can be said: sorted slices, no heaps,
// no workers. Every method ends with all that can run running.
type reference struct {
	workers, run int
	now          time.Time

	aggregates map[string]*refAggregate
	ready      []string
	paused     bool
	closed     bool
	seq, turns int
	delivered  int64
	idle       []string
	shed       []string
	short      bool
}

type refTask struct {
	id        string
	version   int64
	tie       string
	seq       int
	appended  time.Time
	notBefore time.Time
	on        string
	behind    int // -1: it was submitted
	waited    time.Duration
	backedOff time.Duration
}

type refAggregate struct {
	queue   []*refTask
	run     []*refTask
	waiting bool
	turn    int
	woken   map[string]bool
	refused []*refTask
}

func before(a, b *refTask) bool {
	return cmp.Or(cmp.Compare(a.version, b.version), cmp.Compare(a.tie, b.tie)) < 0
}

func (r *reference) submit(key string, t *refTask) {
	t.behind = -1
	r.place(key, t)
}

func (r *reference) place(key string, t *refTask) {
	r.seq++
	t.seq = r.seq
	a := r.aggregates[key]
	if a == nil {
		a = &refAggregate{}
		r.aggregates[key] = a
		r.ready = append(r.ready, key)
	}
	a.put(t)
	if a.waiting && a.queue[0] == t {
		r.free(key)
	}
	r.dispatch()
}

func (r *reference) offer(key string, t *refTask, behind int) bool {
	if a := r.aggregates[key]; a != nil {
		full := a.waiting && len(a.queue) > behind && !before(t, a.queue[0])
		overtakes := slices.ContainsFunc(a.refused, func(o *refTask) bool { return before(o, t) })
		if full || overtakes {
			a.refused = append(a.refused, t)
			return false
		}
	}
	t.behind = behind
	r.place(key, t)
	return true
}

func (a *refAggregate) put(t *refTask) {
	a.queue = append(a.queue, t)
	slices.SortFunc(a.queue, func(x, y *refTask) int {
		return cmp.Or(cmp.Compare(x.version, y.version), cmp.Compare(x.tie, y.tie), cmp.Compare(x.seq, y.seq))
	})
}

// free ends the wait of an aggregate.
func (r *reference) free(key string) {
	r.aggregates[key].waiting = false
	r.ready = append(r.ready, key)
}

// dispatch lets run what can.
func (r *reference) dispatch() {
	for !r.paused && !r.closed && len(r.ready) > 0 && r.running() < r.workers {
		a := r.aggregates[r.ready[0]]
		r.ready = r.ready[1:]
		a.woken = make(map[string]bool)
		for len(a.run) < r.run && len(a.queue) > 0 && !a.queue[0].notBefore.After(r.now) {
			a.run = append(a.run, a.queue[0])
			a.queue = a.queue[1:]
		}
	}
}

func (r *reference) running() int {
	n := 0
	for _, a := range r.aggregates {
		if a.run != nil {
			n++
		}
	}
	return n
}

func (r *reference) finish(key string, verdicts []Verdict) {
	a := r.aggregates[key]
	for i, t := range a.run {
		v := verdicts[i]
		t.notBefore, t.on = time.Time{}, ""
		switch v.Action {
		case Done:
			r.delivered++
			continue
		case Drop:
			continue
		case Retry:
			if !a.woken[v.On] {
				t.notBefore, t.on = v.At, v.On
			}
		case Again:
		}
		a.put(t)
	}
	a.run = nil
	retried := slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Action == Retry })
	if r.short && retried && len(a.queue) > 0 && a.queue[0].notBefore.After(r.now) && !r.closed {
		r.sheds(a)
	}
	switch {
	case len(a.queue) == 0:
		delete(r.aggregates, key)
		if len(a.refused) > 0 && !r.closed {
			r.idle = append(r.idle, key)
		}
	case a.queue[0].notBefore.After(r.now):
		r.turns++
		a.waiting, a.turn = true, r.turns
	default:
		r.ready = append(r.ready, key)
	}
	r.dispatch()
}

// sheds takes out the younger half of what is behind a head that waits, from the
// youngest on to the first that has to stay.
func (r *reference) sheds(a *refAggregate) {
	half := (len(a.queue) - 1) / 2
	var out []string
	for len(a.queue)-1 > half {
		i := len(a.queue) - 1
		t := a.queue[i]
		if t.behind < 0 || i <= t.behind {
			break
		}
		out = append([]string{t.String()}, out...)
		a.refused = append(a.refused, t)
		a.queue = a.queue[:i]
	}
	r.shed = append(r.shed, out...)
}

func (r *reference) wake(on string) {
	var freed []string
	for key, a := range r.aggregates {
		if a.run != nil {
			a.woken[on] = true
		}
		for _, t := range a.queue {
			if t.on == on {
				t.notBefore, t.on = time.Time{}, ""
			}
		}
		if a.waiting && !a.queue[0].notBefore.After(r.now) {
			freed = append(freed, key)
		}
	}
	slices.SortFunc(freed, func(x, y string) int {
		return cmp.Or(r.aggregates[x].queue[0].appended.Compare(r.aggregates[y].queue[0].appended), cmp.Compare(x, y))
	})
	for _, key := range freed {
		r.free(key)
	}
	r.dispatch()
}

// withdraw takes queued tasks from a version on out of an aggregate.
func (r *reference) withdraw(key string, least int64) []string {
	a := r.aggregates[key]
	if a == nil {
		return nil
	}
	var taken []string
	var kept []*refTask
	for _, t := range a.queue {
		if t.version >= least {
			taken = append(taken, t.String())
		} else {
			kept = append(kept, t)
		}
	}
	if len(taken) == 0 {
		return nil
	}
	sameHead := len(kept) > 0 && kept[0] == a.queue[0]
	headWaits := len(kept) > 0 && kept[0].notBefore.After(r.now)
	a.queue = kept
	if a.run != nil || a.waiting && sameHead || !a.waiting && len(kept) > 0 && !headWaits {
		return taken
	}
	r.ready = slices.DeleteFunc(r.ready, func(k string) bool { return k == key })
	a.waiting = false
	switch {
	case len(kept) == 0:
		delete(r.aggregates, key)
		if len(a.refused) > 0 && !r.closed {
			r.idle = append(r.idle, key)
		}
	case headWaits:
		r.turns++
		a.waiting, a.turn = true, r.turns
	default:
		r.ready = append(r.ready, key)
	}
	r.dispatch()
	return taken
}

// advance moves time, from the end of one wait to the next.
func (r *reference) advance(d time.Duration) {
	end := r.now.Add(d)
	for {
		next, key := end, ""
		for k, a := range r.aggregates {
			if !a.waiting {
				continue
			}
			at := a.queue[0].notBefore
			if at.Before(next) || at.Equal(next) && (key == "" || a.turn < r.aggregates[key].turn) {
				next, key = at, k
			}
		}
		r.elapse(next)
		if key == "" {
			return
		}
		r.free(key)
		r.dispatch()
	}
}

// elapse adds the time until next to every clock.
func (r *reference) elapse(next time.Time) {
	d := next.Sub(r.now)
	r.now = next
	for _, a := range r.aggregates {
		for _, t := range a.queue {
			if a.waiting {
				t.backedOff += d
			} else {
				t.waited += d
			}
		}
	}
}

// drain returns what is queued, and what runs if the runs are not waited for.
func (r *reference) drain(withRuns bool) []string {
	var out []string
	for _, key := range sorted(r.aggregates) {
		a := r.aggregates[key]
		if withRuns {
			for _, t := range a.run {
				a.put(t)
			}
		}
		for _, t := range a.queue {
			out = append(out, t.String())
		}
	}
	return out
}

func (t *refTask) String() string {
	return fmt.Sprintf("%s waited %v, backed off %v", t.id, t.waited, t.backedOff)
}

// runs shows what runs, by aggregate.
func (r *reference) runs() map[string][]string {
	out := make(map[string][]string)
	for key, a := range r.aggregates {
		for _, t := range a.run {
			out[key] = append(out[key], t.String())
		}
	}
	return out
}

func (r *reference) stats() Stats {
	s := Stats{Paused: r.paused, Delivered: r.delivered}
	for _, a := range r.aggregates {
		s.Running += len(a.run)
		if a.waiting {
			s.Waiting += len(a.queue)
		} else {
			s.Queued += len(a.queue)
		}
	}
	return s
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
