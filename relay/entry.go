package relay

import (
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/lanes"
	"outboxrelay/relay/feed"
)

// entry is one record in memory, from its admission to the commit that settles
// it. The feeds' part of it is the embedded Record, which is the state machine's
// from the admission on; the rest is of whoever has the record: one worker at a
// time.
type entry struct {
	feed.Record
	outbox *outbox
	doc    *Doc // with faults, for the dead letter; nil without
	rec    *contracts.Record
	route  *contracts.EventRoute
	lane   contracts.Lane   // the lane it runs in: the catalog's
	tier   contracts.Tier   // of its dead letter
	data   []byte           // its envelope; nil with faults
	faults contracts.Faults // what breaks the contract
	task   lanes.Task
	readAt time.Time // when the relay first had it
	trail  *trail    // of its trace; nil: it is not traced

	outages  int       // outage failures in a row that counted no attempt
	vain     int       // failures at targets that were out
	unsaved  bool      // deliveredTargets holds more than Firestore does
	forgiven bool      // attempts are fewer than Firestore may have
	blamed   blame     // what its dead letter says if its attempts are used up
	wait     time.Time // not to be delivered before; set for records that were retrying when read

	// before are targets that an owner before had reached, as its mark told that came
	// late: the settler's, which writes one settlement of e at a time.
	before []string

	// Guarded by the ledger: since when it leaves memory, and what is closed when it has,
	// or does not soon, if somebody waits for that.
	leaves  time.Time
	hasLeft chan struct{}
}

// describe fills in what the feeds and its lane know of e, which was read as d by in;
// of one that was searched and that no feed brings, without it.
func (e *entry) describe(d Doc, in *intake) {
	rec := e.rec
	e.Record = feed.Record{
		Sight: d.sight(), Origin: feed.Read, Aggregate: aggregateKey(e.outbox.spec.Name, rec.AggregateID), AggregateID: rec.AggregateID,
		Version: rec.AggregateVersion, Faulty: len(e.faults) > 0, Retrying: rec.Status == contracts.Retrying,
		Size: recordOverhead + int64(len(e.data)+dlq.SizeOf(rec.Payload)), Owner: e,
	}
	var needs []string
	if !e.Faulty {
		e.Targets, needs = e.missing(), e.route.Targets
	}
	if in == nil {
		e.Origin, in = feed.Stray, e.outbox.intakeFor(rec.Lane)
	}
	if in != nil {
		e.Home = in.feed
	}
	e.task = lanes.Task{
		Aggregate: e.Aggregate, Version: rec.AggregateVersion, Tie: d.ID, Appended: rec.CreatedAt, Needs: needs, Work: e,
	}
}

// unwritten reports whether Firestore must be told something before e can leave
// memory.
func (e *entry) unwritten() bool { return e.unsaved || e.rec.Status == contracts.Retrying }

// missing lists the targets that have not acknowledged the record.
func (e *entry) missing() []string {
	var out []string
	for _, t := range e.route.Targets {
		if !e.rec.HasTarget(t) {
			out = append(out, t)
		}
	}
	return out
}

// aggregateKey is the lanes' FIFO key: order is kept for each aggregate of an
// outbox.
func aggregateKey(outbox, aggregateID string) string { return outbox + "\x00" + aggregateID }
