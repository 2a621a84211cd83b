package dlq

import (
	"time"

	"outboxrelay/contracts"
)

// Item is one dead letter.
type Item struct {
	ID               string
	Tier             contracts.Tier // may become another; OriginalTier does not
	OriginalTier     contracts.Tier // under which it died; of one that was restored, its event's own
	State            contracts.DeadState
	Reason           contracts.Reason
	Outbox           string
	RecordPath       string         // "outbox/documentID"
	Record           map[string]any // the whole record as it stood; the store's own values when it is written, plain ones when it was read
	RecordTrimmed    bool           // the copy lacks its payload, which stands in the outbox document, and in the body of a consumer's message; see Whole
	EventID          string
	EventType        string
	TraceID          string
	IdempotencyKey   string
	AggregateID      string
	AggregateVersion int64
	Versionless      bool // its record has no sound version, so that it has no place among the others of its aggregate
	Lane             contracts.Lane
	PendingTargets   []string
	Consumer         string                   // who could not handle it, and to whom alone a replay goes; "": it could not be delivered
	Errors           []contracts.AttemptError // of deliveries and of replays, the latest of them
	Attempts         int                      // failed deliveries, replays apart
	DeadAt           time.Time
	Replays          int // replays that ended
	// NextReplayAt is when it is replayed: by its schedule, or because somebody
	// asked. Zero: not.
	NextReplayAt time.Time
	Decisions    []Decision // of people, and of the service where it changed the tier
	Group        string     // see GroupOf
	Replaying    *Request   // the replay that a person asked for and that has not ended
	LastReplay   *Ended     // the last replay that ended
	AuthorizedBy string     // SECURITY_BLOCK: who authorized its replay
	// RelayTraceparent names the span in which the record was dead-lettered, for
	// the spans of its replays to be linked to; "" where it was not traced.
	RelayTraceparent string

	UpdateTime time.Time // of its document; zero before it was written
}

// Request is a replay that was asked for.
type Request struct {
	ID     string // of the decision
	By     string
	At     time.Time
	Reason string
	Bulk   string // the bulk replay that it is part of; "" for a single one
	Waits  Waits  // what it waits for, as far as that was noted
}

// Ended is a replay that ended.
type Ended struct {
	ID        string // of the audit entry that tells of its end
	At        time.Time
	Delivered bool   // to every target
	Request   string // ID of the request; "" when the schedule asked
	Bulk      string
	By        string
}

// Decision is one line of a dead letter's history.
type Decision struct {
	ID     string // of its audit entry
	Action Action
	By     string
	At     time.Time
	Reason string
}

// BoundErrors is what a dead letter keeps of a list of errors: how it began, and
// the latest. The list itself stays as it is.
func BoundErrors(errs []contracts.AttemptError) []contracts.AttemptError { return bounded(errs) }

// Place returns where the item stands.
func (i *Item) Place() Place { return Place{i.Tier, i.State, i.Replaying != nil} }

// Due reports whether the item is to be replayed now.
func (i *Item) Due(now time.Time) bool {
	return Open(i.State) && !i.NextReplayAt.IsZero() && !i.NextReplayAt.After(now)
}
