package relay

import (
	"time"

	"outboxrelay/contracts"
	"outboxrelay/lanes"
)

// entry is one record in memory, from its admission to the commit that
// settles it. Between the two it is on exactly one way: in its lane (one
// worker at a time), or leaving. Fields below the line are the ledger's.
type entry struct {
	outbox *outbox
	feed   *feed // that brings it, and whose gates it heeds; nil where none would
	doc    Doc
	rec    *contracts.Record
	route  *contracts.EventRoute
	lane   contracts.Lane   // the lane it runs in: the catalog's
	tier   contracts.Tier   // of its dead letter
	data   []byte           // its envelope; nil with faults
	faults contracts.Faults // what breaks the contract
	size   int64            // about what it takes up in memory, in bytes
	task   lanes.Task
	readAt time.Time // when the relay first had it
	trail  *trail    // of its trace; nil: it is not traced

	outages  int       // outage failures in a row that counted no attempt
	unsaved  bool      // deliveredTargets holds more than Firestore does
	forgiven bool      // attempts are fewer than Firestore may have
	blamed   blame     // what its dead letter says if its attempts are used up
	stray    bool      // its feed did not bring it: it takes none of its room
	ahead    bool      // older ones of its aggregate may not have been read yet
	wait     time.Time // not to be delivered before; set for records that were retrying when read

	// Guarded by the ledger.
	stage      stage
	resting    bool          // waits for a retry
	awaits     bool          // ... that costs no attempt: a target is out, or failed as if it were
	left       chan struct{} // closed when a leaving record has left
	updateTime time.Time     // of the document, as last read or written
	writing    bool          // a settlement of it is on its way
	burying    bool          // its dead letter is: younger ones of its aggregate wait
	next       *settlement   // waits for that one
}

type stage int

const (
	stageLane     stage = iota // queued, in delivery or in backoff
	stageSettling              // its end is being written
	stageLeaving               // deferred with unsaved progress: it leaves memory once that is written
	stageEnded                 // settled by somebody else while in its lane, which drops it
)

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

func (e *entry) position() Position { return e.doc.position() }

// aggregateKey is the lanes' FIFO key: order is kept for each aggregate of an
// outbox.
func aggregateKey(outbox, aggregateID string) string { return outbox + "\x00" + aggregateID }
