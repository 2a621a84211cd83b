package ier

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"outboxrelay/contracts"
)

// Job is one record in one round of delivery.
type Job struct {
	Record  *contracts.Record
	Data    []byte // its envelope, shared by the messages of all targets, never written to
	Lane    contracts.Lane
	Targets []string // still missing, and allowed now
	Replay  string   // the dead letter's ID on a replay, "" otherwise
	// Consumer is the one that a replay is for, of those that read the target; "": all.
	Consumer string
	Attempt  int // 1 is the first
	// Others are those of Targets for which more wait that nobody has in memory yet: a
	// probe tells nothing of them.
	Others []string
	Waits  Waits // where the time since the append went before this round
	// Span is that of this round of delivery; its attempts become its children.
	// nil: the record is not traced.
	Span trace.Span
}

// Waits tells apart where a record spent its time before a round of delivery.
// All rounds so far count together, so that the waits and the delivery add up
// to the lag.
type Waits struct {
	Firestore time.Duration // from the append until the relay saw it
	Lane      time.Duration // in the lane's queue
	Backoff   time.Duration // between failed attempts
}

// Outcome says what became of one job. Each of its targets is in exactly one
// of the four lists, in the order of Job.Targets.
type Outcome struct {
	Acked  []string
	Failed []TargetFailure
	// Blocked targets were not attempted: the breaker was open, or ctx had
	// ended before the call.
	Blocked []string
	// Behind targets were not attempted: an older record of the run failed
	// there. The lane hands the record out again, whatever became of the older.
	Behind []string
}

// TargetFailure is one failed attempt at one target.
type TargetFailure struct {
	Target string
	Kind   contracts.Kind
	Code   string // one bounded word
	// Reason is what the record is dead-lettered as when its attempts are used
	// up; "" for the usual one.
	Reason  contracts.Reason
	Message string // valid UTF-8, at most contracts.MaxErrorBytes
	At      time.Time
}
