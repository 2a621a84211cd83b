package simulation

import (
	"strings"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// bill adds up what there was to read: the documents that the relays may read of
// outboxes follow from what happened, not from how much there is.
type bill struct {
	changes  int // of documents of outboxes: each listener of them is told of one twice at most
	taken    int // what stood in an outbox as an instance took it up, or a part of it
	sweeps   int // what stands there that is no end, at each sweep
	swept    int
	closings int // what two pages bring back at most as a target answers again
	shown    int // what listeners' windows held as they were opened
	releases int // what stood of an aggregate as it was let go on
	refused  int // what is read again as aggregates get on of which lanes refused some
	lingered int // ... and as records leave memory whose progress was written late
}

// sweepEvery is relay.Tuning's SweepInterval.
const sweepEvery = 30 * time.Second

// What the relay reads for each, with what stands in the relay's own tests of its
// bill. What waits for a target is brought back by pages, of 32 at first.
const (
	readsPerChange  = 2
	readsPerSweep   = 14 // of one share
	readsPerClosing = 2 * 32
	readsPerRefusal = 8
	readsAtLeast    = 200
)

// most is how many documents may have been read.
func (b bill) most(s size) int {
	shares := 1 + s.Shards
	return readsAtLeast + readsPerChange*b.changes + b.taken + b.sweeps + b.swept*readsPerSweep*shares + b.closings + b.shown + b.releases + b.refused + b.lingered
}

// atItsEnd reports whether nothing is to be done about a document of an outbox any more.
func atItsEnd(d *document) bool {
	status := statusOf(d)
	return status == contracts.Delivered || status == contracts.Dead
}

// unsettledLocked counts the documents of an outbox that are not at their end, and
// that stand for one aggregate; "": for any.
func (w *world) unsettledLocked(outbox, aggregate string) (n int) {
	for id, d := range w.db.collectionLocked(outbox).docs {
		if atItsEnd(d) {
			continue
		}
		if !strings.HasPrefix(id, "!") && (aggregate == "" || d.fields[contracts.FieldAggregateID] == aggregate) {
			n++
		}
	}
	return n
}

// refusedLocked returns what one record that is through has read again on average: a
// lane takes so many of an aggregate, and the feed goes back to the first that it
// refused once those are through, whether they are marked or deleted.
func (w *world) refusedLocked(c change) int {
	if c.before == nil || atItsEnd(c.before) || c.after != nil && !atItsEnd(c.after) {
		return 0
	}
	aggregate, behind := textOf(c.before.fields[contracts.FieldAggregateID]), w.plan.Size.Behind
	if w.unsettledLocked(c.collection, aggregate) <= behind {
		return 0
	}
	return (w.unsettledLocked(c.collection, "") + behind - 1) / behind
}

// leavingPatience is the relay's: for so long its pages wait for a record that leaves
// memory as soon as its progress is written. Those that show it are read again after
// that.
const leavingPatience = time.Second

// savedLate takes into the bill that records leave memory whose progress took longer to
// be written. Behind each the younger ones of its aggregate were left: the feed goes back
// to them once for all of the commit, and reads what stands there from then on. A page of
// the feed and one of a target that answers again waited for it, too, and are read again.
// Where it is written in time, so few pages meet it that readsAtLeast has room for them.
func (j *judge) savedLate(x *wire, writes []dlq.Write, began time.Duration) {
	j.world.db.mu.Lock()
	defer j.world.db.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	late := make(map[string]bool) // by outbox
	for _, w := range writes {
		r := j.records[w.Collection+"/"+w.ID]
		if r == nil || r.status != contracts.Pending {
			continue
		}
		since := began
		if at, delivered := r.answered[x.who]; delivered {
			since = min(since, at)
		}
		if j.world.elapsed()-since >= leavingPatience {
			late[w.Collection] = true
		}
	}
	for outbox := range late {
		n := j.world.unsettledLocked(outbox, "")
		j.bill.lingered += n + min(n, j.world.plan.Size.Page) + min(n, readsPerClosing/2)
	}
}

// billedLocked takes a commit into the bill. The database is locked.
func (j *judge) billedLocked(c change) {
	switch {
	case j.world.catalog.Outbox(c.collection) != nil:
		if len(j.world.all) == 0 {
			return // what stood there before is taken up
		}
		if c.after != nil { // nobody pays for what is deleted
			j.bill.changes++
		}
		j.bill.refused += readsPerRefusal * j.world.refusedLocked(c)
	case c.collection == contracts.CollectionLeases && c.after != nil:
		owner := c.after.fields["owner"]
		if c.before != nil && c.before.fields["owner"] == owner || owner == nil || owner == "" {
			return
		}
		outbox, _, _ := strings.Cut(c.after.id, ".")
		if j.world.catalog.Outbox(outbox) != nil {
			j.bill.taken += j.world.unsettledLocked(outbox, "")
		}
	case c.collection == contracts.CollectionFrozen && c.before != nil:
		for _, o := range j.world.catalog.Outboxes {
			j.bill.releases += 2 * j.world.unsettledLocked(o.Name, textOf(c.before.fields[contracts.FieldAggregateID]))
		}
	}
}

// billSweeps takes into the bill what each sweep looks at.
func (w *world) billSweeps() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.db.mu.Lock()
			n := 0
			for _, o := range w.catalog.Outboxes {
				n += w.unsettledLocked(o.Name, "")
			}
			w.db.mu.Unlock()
			w.judge.mu.Lock()
			w.judge.bill.swept++
			w.judge.bill.sweeps += n
			w.judge.mu.Unlock()
		case <-w.over:
			return
		}
	}
}

// judgeReads holds what all processes read to what there was to read.
func (w *world) judgeReads() {
	w.mu.Lock()
	read, how := int64(0), make(map[string]int64)
	for _, l := range w.all {
		l.wire.mu.Lock()
		for by, n := range l.wire.reads {
			how[by] += n
			read += n
		}
		l.wire.mu.Unlock()
		if w.plan.Alone {
			w.judge.bill.taken += int(l.pending)
		}
	}
	w.mu.Unlock()
	most := int64(w.judge.bill.most(w.plan.Size))
	w.reads, w.mostReads = read, most
	if read > most {
		w.judge.fault("reads", "", "%d documents were read, where %d may be: %+v; %v", read, most, w.judge.bill, how)
	}
}
