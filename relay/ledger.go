package relay

import (
	"slices"
	"sync"
	"time"

	"outboxrelay/contracts"
)

// ledger knows what the relay holds of one outbox: which records are in
// memory, which were settled a moment ago, and for each feed how far it has
// read and what it left behind on purpose. It is pure bookkeeping under one
// lock: no I/O, no clock.
//
// The rule that it keeps: a pending record that a feed has read past is in
// memory, or settled, or behind a gate that remembers the oldest of its kind.
// Opening a gate moves the feed back to there. So nothing is forgotten
// whatever the backlog, and memory stays bounded.
type ledger struct {
	mu      sync.Mutex
	held    map[string]*entry // by document ID
	writing int               // records with a settlement on its way, also of such as are not held any more
	settled settlements
	heard   time.Time // the latest server time that was seen
	// leaving are the records in stageLeaving, by aggregate: a younger one must not
	// be taken before they are read again.
	leaving map[string][]*entry
	// burying counts the dead letters on their way of records whose attempts are
	// used up, by aggregate: until they are written, a crash would have them
	// delivered after younger ones.
	burying map[string]int
	// standings are how aggregates stand that are not free, by aggregate ID.
	standings map[string]standing
}

func newLedger() *ledger {
	return &ledger{
		held: make(map[string]*entry), settled: make(settlements), leaving: make(map[string][]*entry), burying: make(map[string]int),
		standings: make(map[string]standing),
	}
}

// consideration is what to do with a document that was read.
type consideration int

const (
	considerTake  consideration = iota // new: decode it, then admit it
	considerKnown                      // in memory, or settled after this read
	considerWait                       // in memory and about to leave: read again once it has
	considerDoubt                      // it may have been settled after this read, which is forgotten: see readAgain
)

// consider judges a document that no feed read, before it is decoded. For
// considerWait, left is closed when the record has left.
func (l *ledger) consider(d Doc) (c consideration, left <-chan struct{}) {
	return l.considerFor(d, nil)
}

// consider judges a document that the feed read, before it is decoded.
func (f *feed) consider(d Doc) (c consideration, left <-chan struct{}) {
	return f.ledger.considerFor(d, f)
}

func (l *ledger) considerFor(d Doc, f *feed) (c consideration, left <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.ReadTime.After(l.heard) {
		l.heard = d.ReadTime
	}
	if e, ok := l.held[d.ID]; ok {
		if e.stage == stageLeaving {
			return considerWait, e.left
		}
		return considerKnown, nil
	}
	return l.settled.consider(d, f), nil
}

// bury notes that e is about to be dead-lettered, and buried that it was.
func (l *ledger) bury(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.burying = true
	l.burying[e.task.Aggregate]++
}

func (l *ledger) buriedLocked(e *entry) {
	if !e.burying {
		return
	}
	e.burying = false
	if l.burying[e.task.Aggregate]--; l.burying[e.task.Aggregate] == 0 {
		delete(l.burying, e.task.Aggregate)
	}
}

// buries reports whether a record of the aggregate is about to be dead-lettered.
func (l *ledger) buries(aggregate string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.burying[aggregate] > 0
}

// leavingLocked makes e one that leaves memory once its progress is written.
func (l *ledger) leavingLocked(e *entry) {
	e.stage, e.left = stageLeaving, make(chan struct{})
	key := e.task.Aggregate
	l.leaving[key] = append(l.leaving[key], e)
}

// overtakesLocked reports whether an older record of e's aggregate is leaving: it
// is read again after that, and goes before e.
func (l *ledger) overtakesLocked(e *entry) bool {
	return slices.ContainsFunc(l.leaving[e.task.Aggregate], func(older *entry) bool {
		return older != e && older.rec.AggregateVersion <= e.rec.AggregateVersion
	})
}

// leftLocked is the end of that.
func (l *ledger) leftLocked(e *entry) {
	key := e.task.Aggregate
	if l.leaving[key] = slices.DeleteFunc(l.leaving[key], func(each *entry) bool { return each == e }); len(l.leaving[key]) == 0 {
		delete(l.leaving, key)
	}
}

// admitStray takes a record into memory that no feed brought. It reports false
// when it is in memory already, or has to stay in Firestore until its aggregate
// goes on. One that is retrying is taken even then: it has to become pending
// again first.
func (l *ledger) admitStray(e *entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.standings[e.rec.AggregateID].shut() && len(e.faults) == 0 && e.rec.Status != contracts.Retrying {
		return false
	}
	return l.admitLocked(e)
}

func (l *ledger) admitLocked(e *entry) bool {
	if _, ok := l.held[e.doc.ID]; ok {
		return false
	}
	l.held[e.doc.ID] = e
	e.updateTime = e.doc.UpdateTime
	if e.takesRoom() {
		e.feed.running++
		e.feed.memory.take(e.feed, e.size)
	}
	return true
}

// takesRoom reports whether e counts for what its feed may have in memory.
func (e *entry) takesRoom() bool { return e.feed != nil && !e.stray }

// remove takes e out of memory. at is the server's time of the commit that
// settled it; zero when nothing was written.
func (l *ledger) remove(e *entry, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(e, at)
}

// deleted takes e out of memory after its document was deleted.
func (l *ledger) deleted(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(e, time.Time{})
	l.settled.add(e.feed, e.doc.ID, settled{created: e.doc.CreateTime, since: l.heard})
}

func (l *ledger) removeLocked(e *entry, at time.Time) {
	if l.held[e.doc.ID] != e {
		return
	}
	delete(l.held, e.doc.ID)
	if e.left != nil { // also of one that somebody else settled meanwhile
		l.leftLocked(e)
	}
	l.buriedLocked(e)
	if !at.IsZero() {
		l.settled.add(e.feed, e.doc.ID, settled{at: at})
	}
	f := e.feed
	if f == nil {
		return
	}
	switch {
	case !e.takesRoom():
		e.resting = false
	case e.resting:
		f.memory.give(f, e.size, true)
		e.resting = false
		f.resting--
	default:
		f.memory.give(f, e.size, false)
		f.running--
	}
	f.goneLocked(e)
	f.roomLocked()
}

// rest moves e between the records that wait for a retry and those that run.
// Resting ones do not fill their feed's room.
func (l *ledger) rest(e *entry, resting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	awaited := e.awaits
	e.awaits = false
	l.restLocked(e, resting)
	if awaited && e.feed != nil {
		e.feed.goesOnLocked(e)
	}
}

// await is rest for one that waits until a target answers again.
func (l *ledger) await(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.awaits = true
	l.restLocked(e, true)
}

func (l *ledger) restLocked(e *entry, resting bool) {
	if e.feed == nil || e.resting == resting || l.held[e.doc.ID] != e {
		return
	}
	e.resting = resting
	if !e.takesRoom() {
		return
	}
	e.feed.memory.rest(e.feed, e.size, resting)
	if resting {
		e.feed.running--
		e.feed.resting++
		e.feed.roomLocked()
	} else {
		e.feed.running++
		e.feed.resting--
	}
}

// knownUpdateTime returns the update time on which a write of e has to insist.
func (l *ledger) knownUpdateTime(e *entry) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.updateTime
}

// setUpdateTime notes that e's document was changed by somebody else.
func (l *ledger) setUpdateTime(e *entry, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.updateTime = at
}

// end tells e's lane to let go of it: somebody else settled it.
func (l *ledger) end(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.stage = stageEnded
}

func (l *ledger) ended(e *entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.stage == stageEnded
}

// writingLocked notes whether a settlement of e is on its way.
func (l *ledger) writingLocked(e *entry, writing bool) {
	switch {
	case writing && !e.writing:
		l.writing++
	case !writing && e.writing:
		l.writing--
	}
	e.writing = writing
}

// quiet reports whether nothing is in memory and nothing is being written.
func (l *ledger) quiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held) == 0 && l.writing == 0
}

// size returns how many records are in memory.
func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held)
}

// signal puts a token into a channel of capacity one, if there is none.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
