package relay

import (
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/lanes"
	"outboxrelay/relay/feed"
)

// freezeLabel is what a record waits for whose aggregate is about to be frozen.
func freezeLabel(aggregateID string) string { return "freeze " + aggregateID }

// buryLabel is what a record waits for while an older one is dead-lettered.
func buryLabel(aggregate string) string { return "burial " + aggregate }

// freezeRecheck is how long such a record waits if nobody wakes it.
const freezeRecheck = time.Second

// stand takes in how an aggregate stands now, and moves its records on: out of
// their lanes, except those that a worker has. They come to the same at their
// next turn.
func (o *outbox) stand(aggregateID string, s feed.Standing) {
	o.ledger.step(feed.Stands{AggregateID: aggregateID, Standing: s})
	switch s {
	case feed.Frozen:
		o.withdraw(aggregateID, o.hold)
	case feed.Releasing, feed.Thawing:
		o.withdraw(aggregateID, o.leave)
	case feed.Dying:
	case feed.Free:
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

// hold settles a record that is in no lane as held.
func (o *outbox) hold(e *entry) {
	if o.ledger.becomes(feed.Holds{Record: &e.Record}).Do == feed.Hold {
		o.settleHeld(e)
	}
}

func (o *outbox) settleHeld(e *entry) {
	o.log.Info("record held: its aggregate is frozen", zap.String("record", e.rec.ID), zap.String("aggregateId", e.rec.AggregateID), zap.String("traceId", e.rec.TraceID), e.trail.field())
	o.settle(e, &settlement{entry: e, kind: settleHeld, at: o.now(), size: 4096})
}

// leave lets a record that is in no lane go out of memory, with its progress
// written, so that it is read again in the order of its aggregate: behind the
// freeze gate, while that is to stay shut.
func (o *outbox) leave(e *entry) {
	o.left(e, o.ledger.becomes(feed.Withdrawn{Record: &e.Record, Unsaved: e.unwritten()}))
}

// left follows up on a record that is about to leave memory, or has left it.
func (o *outbox) left(e *entry, a feed.Action) {
	switch a.Do {
	case feed.SaveIt:
		e.saved(contracts.Pending)
		o.ledger.leaves(e, o.now())
		o.settle(e, &settlement{entry: e, kind: settleProgress, at: o.now(), size: 4096})
	case feed.Forget:
		e.trail.end(outcomeLeft)
	}
}

// intakeFor returns the intake of a lane; nil for one that there is not.
func (o *outbox) intakeFor(lane contracts.Lane) *intake {
	for _, in := range o.intakes {
		if in.lane == lane {
			return in
		}
	}
	return nil
}
