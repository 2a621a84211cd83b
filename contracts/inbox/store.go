package inbox

import (
	"context"
	"errors"
	"time"

	"outboxrelay/contracts"
)

// Store remembers which events a consumer has handled, which it is handling, and which
// have failed. Every method is atomic, and may be called by any number of processes at
// once. All times are the store's own: a caller gives durations, and no two clocks are
// compared. Package inboxtest has the conformance suite of it.
type Store interface {
	// Claim takes an event for a time, unless something stands in the way: see Verdict.
	// A claim of the same token while it holds is the same claim again, with the whole lease,
	// so that one whose answer was lost can be repeated.
	Claim(ctx context.Context, ask Ask) (Claim, error)
	// GiveBack gives a claim up: the event may be claimed again once wait has passed. A
	// failure with a Code is kept and counted. Events of the aggregate with a
	// higher version stay behind it. ErrLost: the claim is another's, or was settled.
	GiveBack(ctx context.Context, ref Ref, failure contracts.AttemptError, wait time.Duration) error
	// Settle ends a claim: the event was processed, or is dead. That is remembered for ttl, and
	// what waited behind it may go on. Settling again is a no-op. ErrLost: the claim is
	// another's.
	Settle(ctx context.Context, ref Ref, end End, ttl time.Duration) error
	// CheckAndMarkProcessed is the short form, without claim and order: it marks the event
	// processed for ttl and returns false, or true where it was processed before. Of
	// several that ask at the same time one gets false. What CheckMark finds fault with is refused, and so is an event
	// in a state that this version does not know.
	CheckAndMarkProcessed(ctx context.Context, consumer, eventID string, ttl time.Duration) (alreadyProcessed bool, err error)
}

// ErrLost says that a claim is not the caller's any more: its lease ran out and another took
// the event over, or it was settled.
var ErrLost = errors.New("the claim is lost")

// Ref names one claim of one event.
type Ref struct {
	Consumer string
	EventID  string
	Token    string // differs for each claim: the fencing token
}

// Ask is what Claim is asked for.
type Ask struct {
	Ref
	AggregateID string
	Version     int64 // of the aggregate
	Lease       time.Duration
	// Keep is how long an event that nobody settles is remembered after it was
	// last claimed or given back: its message may never come again, and must not hold back its
	// aggregate for ever.
	Keep time.Duration
	// Replay takes up an event that is dead, with its count at zero.
	Replay bool
}

// Claim is the answer to an Ask.
type Claim struct {
	Verdict   Verdict
	Failures  int                      // counted so far
	Takeovers int                      // claims in a row whose lease ran out without an answer
	Errors    []contracts.AttemptError // of the failures, the latest MaxErrors of them
	// Wait is when to ask again, as far as that is known: Busy, until the lease ends; Early,
	// until the next try; Behind, the same of what it waits for. 0: not known.
	Wait time.Duration
	// Failing says of Behind that what it waits for has failed and waits for its next try.
	Failing bool
}

// MaxErrors is how many errors of an event a store keeps.
const MaxErrors = 10

// Verdict is what stands in the way of a claim.
type Verdict int

// The verdicts. Where several hold, the first is told.
const (
	Claimed   Verdict = iota + 1 // nothing: the event is the caller's
	Processed                    // it was processed before
	Dead                         // it is dead
	Busy                         // another handles it, or it is in a state that this version does not know
	Early                        // it failed, and its next try is not due
	Behind                       // an event of its aggregate with a lower version is neither processed nor dead
)

func (v Verdict) String() string {
	return [...]string{"none", "claimed", "processed", "dead", "busy", "early", "behind"}[v]
}

// End is how an event ended.
type End string

// The ends.
const (
	EndProcessed End = "processed"
	EndDead      End = "dead"
)
