package relay

import (
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/lanes"
)

// freezeLabel is what a record waits for whose aggregate is about to be frozen.
func freezeLabel(aggregateID string) string { return "freeze " + aggregateID }

// buryLabel is what a record waits for while an older one is dead-lettered.
func buryLabel(aggregate string) string { return "burial " + aggregate }

// freezeRecheck is how long such a record waits if nobody wakes it.
const freezeRecheck = time.Second

// stand takes in how an aggregate stands now, and moves its records on: out of
// their lanes, except those that a worker has. They come to the same at their
// next turn; see turn.
func (o *outbox) stand(aggregateID string, s standing) {
	o.ledger.stand(aggregateID, s, o.feeds)
	switch s {
	case standFrozen:
		o.withdraw(aggregateID, o.hold)
	case standReleasing, standThawing:
		o.withdraw(aggregateID, o.leave)
	case standFree:
		for _, p := range o.pools {
			p.Wake(freezeLabel(aggregateID))
		}
	}
}

// withdraw takes the queued records of an aggregate out of every lane, for move
// to take on. Replays stay: no freeze holds them.
func (o *outbox) withdraw(aggregateID string, move func(*entry)) {
	key := aggregateKey(o.spec.Name, aggregateID)
	isRecord := func(t *lanes.Task) bool { e, ok := t.Work.(*entry); return ok && e.outbox == o }
	for _, lane := range contracts.Lanes() {
		for _, t := range o.pools[lane].Withdraw(key, isRecord) {
			move(t.Work.(*entry))
		}
	}
}

// turn decides what a freeze makes of a record whose turn it is in its lane. It
// reports false when the record is to be delivered.
func (o *outbox) turn(e *entry, s standing, now time.Time) (lanes.Verdict, bool) {
	switch s {
	case standFrozen:
		o.hold(e)
	case standReleasing, standThawing:
		o.leave(e)
	case standDying:
		return e.rest(lanes.Verdict{Action: lanes.Retry, At: now.Add(freezeRecheck), On: freezeLabel(e.rec.AggregateID)}), true
	default:
		return lanes.Verdict{}, false
	}
	return lanes.Verdict{Action: lanes.Drop}, true
}

// hold settles a record that is in no lane as held.
func (o *outbox) hold(e *entry) {
	if o.ledger.ended(e) {
		o.ledger.remove(e, time.Time{})
		return
	}
	o.log.Info("record held: its aggregate is frozen", zap.String("record", e.rec.ID), zap.String("aggregateId", e.rec.AggregateID), zap.String("traceId", e.rec.TraceID), e.trail.field())
	o.settle(e, &settlement{entry: e, kind: settleHeld, at: o.now(), size: 4096})
}

// leave lets a record that is in no lane go out of memory, with its progress
// written, so that it is read again in the order of its aggregate: behind the
// freeze gate, while that is to stay shut.
func (o *outbox) leave(e *entry) {
	f := o.feedOf(e)
	if !o.beginLeave(e, f) {
		return
	}
	e.saved(contracts.Pending)
	o.settle(e, &settlement{entry: e, kind: settleProgress, at: o.now(), size: 4096})
}

// beginLeave takes e out of memory, or makes it one that leaves once its
// progress is written, and reports that with true.
func (o *outbox) beginLeave(e *entry, f *feed) bool {
	l := o.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.stage != stageLane {
		if e.stage == stageEnded {
			l.removeLocked(e, time.Time{})
		}
		return false
	}
	if f != nil && l.standings[e.rec.AggregateID].shut() {
		f.leaveAtLocked(freezeGate(e.rec.AggregateID), e)
	}
	if e.unsaved || e.rec.Status == contracts.Retrying {
		l.leavingLocked(e)
		return true
	}
	f.returnLocked(e)
	l.removeLocked(e, time.Time{})
	e.trail.end(outcomeLeft)
	return false
}

// hasLeft takes e out of memory after its progress was written at the server's
// time at.
func (o *outbox) hasLeft(e *entry, at time.Time) {
	if f := o.feedOf(e); f != nil {
		f.hasLeft(e, at)
		return
	}
	o.ledger.remove(e, at)
	close(e.left)
}

// feedOf returns the feed that would bring e again; nil when none would, since
// the outbox does not declare the lane that e's document names.
func (o *outbox) feedOf(e *entry) *feed {
	if e.feed != nil {
		return e.feed
	}
	return o.feedFor(e.rec.Lane)
}

func (o *outbox) feedFor(lane contracts.Lane) *feed {
	for _, f := range o.feeds {
		if f.lane == lane {
			return f
		}
	}
	return nil
}
