package lease

import (
	"cmp"
	"slices"
	"time"

	"outboxrelay/dlq"
)

// work is what an actor keeps in memory of the outbox while it owns the share.
type work struct {
	read    int // passes over the outbox so far: retrying, pending, retrying again
	entries []*entry
	frozen  map[string]time.Time // aggregates, and their freezes' update times; zero: a burial is on its way
}

// entry is a record in memory.
type entry struct {
	id, aggregate string
	version       int
	attempts      int
	base          time.Time // update time as known last
	state         entryState
	ended         bool        // another settled it
	out, next     *settlement // on its way, and what comes after it
}

type entryState int

const (
	entryWaiting entryState = iota
	entryDelivering
	entryAcked
	entryDying
	entryHolding
)

// settlement is what is to be written of a record.
type settlement struct {
	kind     string // a status
	attempts int
	sent     bool
	base     time.Time // on which its write was conditioned last
	alone    bool      // it was refused together with others
	part     int       // of a settlement in two commits, which is a flaw
}

// deadAfter failures make a dead letter.
const deadAfter = 3

func (a *actor) workSteps() []step {
	if a.lease == nil {
		return nil
	}
	var steps []step
	w := &a.work
	if !a.told {
		steps = append(steps, step{1, func() { a.told = true; a.m.note("%s is to hand over", a.name) }})
		steps = append(steps, a.readSteps()...)
		for _, e := range w.entries {
			if a.deliverable(e) && a.valid() {
				steps = append(steps, step{24, func() { a.deliver(e) }})
			}
			if a.holdable(e) {
				steps = append(steps, step{16, func() { a.hold(e) }})
			}
		}
	}
	for _, e := range w.entries {
		if e.state == entryDelivering {
			steps = append(steps, step{24, func() { a.outcome(e, a.m.choose(8)) }})
		}
	}
	if len(a.unsent()) > 0 {
		steps = append(steps, step{24, func() { a.settle(a.m.choose(3) + 1) }})
	}
	return steps
}

func (a *actor) readSteps() []step {
	if a.work.read < a.passes() {
		return []step{{a.m.temper.reading, a.pass}}
	}
	return []step{{6, a.listen}, {3, a.readFreezes}, {2, a.sweep}}
}

// passes over the outbox until the first delivery. A retry mark that a former
// owner sent late may move a record between two of them, so what is retrying is
// read before and after what is pending.
func (a *actor) passes() int {
	if a.m.flaw == flawReadOnce {
		return 2
	}
	return 3
}

func (a *actor) pass() {
	a.m.note("%s reads, pass %d", a.name, a.work.read)
	if a.work.read == 0 {
		a.readFreezes()
	}
	a.takeIn([]string{"retrying", "pending", "retrying"}[a.work.read])
	a.work.read++
}

func (a *actor) listen() {
	a.m.note("%s listens", a.name)
	a.takeIn("pending")
}

// sweep finds what a listener missed.
func (a *actor) sweep() {
	if a.work.read >= a.passes() {
		a.takeIn("retrying")
	}
}

func (a *actor) takeIn(status string) {
	for id, d := range a.m.server.docs[modelRecords] {
		s := decodeRecord(d)
		if s.status != status || slices.ContainsFunc(a.work.entries, func(e *entry) bool { return e.id == id }) {
			continue
		}
		r := a.m.records[id]
		a.work.entries = append(a.work.entries, &entry{id: id, aggregate: r.aggregate, version: r.version, attempts: s.attempts, base: d.UpdateTime})
	}
	slices.SortFunc(a.work.entries, func(x, y *entry) int { return cmp.Or(x.version-y.version, cmp.Compare(x.id, y.id)) }) // maps have no order
}

func (a *actor) readFreezes() {
	for aggregate, at := range a.work.frozen {
		if !at.IsZero() {
			delete(a.work.frozen, aggregate)
		}
	}
	for aggregate := range a.m.server.docs[modelFreezes] {
		a.readFreeze(aggregate)
	}
}

func (a *actor) readFreeze(aggregate string) {
	if a.work.frozen == nil {
		a.work.frozen = make(map[string]time.Time)
	}
	if d, ok := a.m.server.docs[modelFreezes][aggregate]; ok {
		a.work.frozen[aggregate] = d.UpdateTime
	} else {
		delete(a.work.frozen, aggregate)
	}
}

func (a *actor) workDone() bool {
	return !slices.ContainsFunc(a.work.entries, func(e *entry) bool { return e.state == entryDelivering || e.out != nil })
}

// deliverable reports whether it is the entry's turn in its aggregate.
func (a *actor) deliverable(e *entry) bool {
	if _, frozen := a.work.frozen[e.aggregate]; frozen || e.state != entryWaiting || e.ended || a.work.read < a.passes() {
		return false
	}
	return !slices.ContainsFunc(a.work.entries, func(o *entry) bool {
		before := o.aggregate == e.aggregate && o.version < e.version && !o.ended
		return before && (o.state == entryWaiting || o.state == entryDelivering || o.state == entryDying && a.m.flaw != flawOvertakeDead)
	})
}

func (a *actor) holdable(e *entry) bool {
	at, frozen := a.work.frozen[e.aggregate]
	return frozen && !at.IsZero() && e.state == entryWaiting && !e.ended
}

func (a *actor) hold(e *entry) {
	e.state = entryHolding
	a.m.note("%s holds %s", a.name, e.id)
	a.queue(e, &settlement{kind: "held"})
}

// deliver begins a delivery. What comes before it must be known, if it has not
// arrived.
func (a *actor) deliver(e *entry) {
	e.state = entryDelivering
	a.m.note("%s delivers %s", a.name, e.id)
	for id, r := range a.m.records {
		known := slices.ContainsFunc(a.work.entries, func(o *entry) bool { return o.id == id })
		if r.aggregate == e.aggregate && r.version < e.version && r.arrivals == 0 && !known && !a.m.buried(e.aggregate) {
			a.m.violate("%s is delivered ahead of %s", e.id, id)
		}
	}
}

// outcome ends a delivery. Of its eight fates the first are failures, and the
// next is an acknowledgement that was lost.
func (a *actor) outcome(e *entry, fate int) {
	lost := a.m.temper.failing
	if fate >= lost {
		a.m.arrive(e.id)
	} else {
		a.m.records[e.id].failures++
	}
	a.m.note("%s has delivered %s: fate %d", a.name, e.id, fate)
	switch e.state = entryWaiting; {
	case e.ended:
		a.forget(e)
	case fate > lost:
		e.state = entryAcked
		a.queue(e, &settlement{kind: "delivered"})
	case fate == lost:
	case e.attempts+1 < deadAfter:
		e.attempts++
		a.queue(e, &settlement{kind: "retrying", attempts: e.attempts})
	default:
		e.attempts++
		e.state = entryDying
		if freezing(e.aggregate) {
			a.readFreeze(e.aggregate)
			a.work.frozen[e.aggregate] = time.Time{}
		}
		a.queue(e, &settlement{kind: "dead", attempts: e.attempts})
	}
}

func (a *actor) queue(e *entry, st *settlement) {
	if e.out == nil {
		e.out = st
	} else {
		e.next = st
	}
}

func (a *actor) forget(e *entry) {
	a.work.entries = slices.DeleteFunc(a.work.entries, func(o *entry) bool { return o == e })
}

func (a *actor) unsent() []*entry {
	var out []*entry
	for _, e := range a.work.entries {
		if e.out != nil && !e.out.sent {
			out = append(out, e)
		}
	}
	return out
}

// settle sends at most n settlements in one commit.
func (a *actor) settle(n int) {
	batch := a.unsent()
	if i := slices.IndexFunc(batch, func(e *entry) bool { return e.out.alone }); i >= 0 {
		batch = batch[i : i+1]
	}
	batch = batch[:min(n, len(batch))]
	var writes []dlq.Write
	sent := make([]*settlement, len(batch))
	what := "settlement of"
	for i, e := range batch {
		e.out.sent, e.out.base = true, e.base
		sent[i] = e.out
		writes = append(writes, a.writes(e)...)
		what += " " + e.id + " as " + e.out.kind
	}
	a.m.note("%s sends its %s", a.name, what)
	a.m.net = append(a.m.net, &message{from: a, run: a.run, what: what, settles: true, writes: writes, hear: func(at time.Time, err error) {
		for i, e := range batch {
			st := sent[i]
			switch st.sent = false; {
			case err == nil:
				a.committed(e, st, at)
			case dlq.IsRefused(err) && len(batch) > 1:
				st.alone = true
			case dlq.IsRefused(err):
				a.refused(e, st)
			}
		}
	}})
}

func (a *actor) committed(e *entry, st *settlement, at time.Time) {
	twoParts := a.m.flaw == flawAtomic || a.m.flaw == flawFreeze && freezing(e.aggregate)
	if st.kind == "dead" && twoParts && st.part == 0 {
		st.part++
		return
	}
	e.base = at
	e.out, e.next = e.next, nil
	switch st.kind {
	case "retrying":
		return
	case "dead":
		if freezing(e.aggregate) {
			a.readFreeze(e.aggregate)
		}
	}
	a.forget(e)
}

// refused resolves a settlement by what the record says now.
func (a *actor) refused(e *entry, st *settlement) {
	d := a.m.server.docs[modelRecords][e.id]
	now := decodeRecord(d)
	switch {
	case now.final(), now.status == "held" && st.kind != "dead":
		a.abandon(e, st)
	case !d.UpdateTime.Equal(st.base):
		e.base = d.UpdateTime
		switch {
		case a.m.flaw == flawTwice && st.kind == "retrying":
			st.attempts = now.attempts + 1
		case a.m.flaw != flawCount:
			st.attempts = max(st.attempts, now.attempts)
		}
		e.attempts = max(st.attempts, e.attempts)
	case st.kind == "held":
		if a.readFreeze(e.aggregate); a.work.frozen[e.aggregate].IsZero() {
			e.state, e.out = entryWaiting, nil
		}
	}
}

// abandon ends a settlement that another's made pointless.
func (a *actor) abandon(e *entry, st *settlement) {
	if st.kind == "dead" && freezing(e.aggregate) {
		a.readFreeze(e.aggregate)
	}
	e.out, e.next = e.next, nil
	if e.out != nil {
		return // it finds its own answer
	}
	e.ended = true
	if e.state != entryDelivering {
		a.forget(e)
	}
}

// workEnd are the steps of the work when all is well.
func (a *actor) workEnd() []func() {
	if a.lease == nil {
		return nil
	}
	var steps []func()
	if !a.told {
		steps = append(steps, a.readSteps()[0].do, a.readFreezes, a.sweep)
		for _, e := range a.work.entries {
			steps = append(steps, func() {
				switch {
				case a.deliverable(e) && a.valid():
					a.deliver(e)
				case a.holdable(e):
					a.hold(e)
				}
			})
		}
	}
	for _, e := range a.work.entries {
		steps = append(steps, func() {
			if e.state == entryDelivering {
				a.outcome(e, 7)
			}
		})
	}
	return append(steps, func() {
		if len(a.unsent()) > 0 {
			a.settle(3)
		}
	})
}
