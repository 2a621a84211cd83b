package dlq

import (
	"slices"
	"time"

	"outboxrelay/contracts"
)

// FreezeState is how a frozen aggregate stands.
type FreezeState string

const (
	// Frozen: its records are held.
	Frozen FreezeState = "frozen"
	// Releasing: what was held is being put back; what comes waits for that.
	Releasing FreezeState = "releasing"
)

// Freeze is an aggregate whose records are held. Its document disappears when
// the release is done.
type Freeze struct {
	AggregateID string
	State       FreezeState
	FrozenAt    time.Time
	Reason      contracts.Reason // of the dead letter that froze it last
	Outbox      string           // of that dead letter, as all below
	EventType   string
	EventID     string
	TraceID     string
	DeadLetters []string // IDs of what froze it, see Relist
	ReleasedBy  string   // Releasing only, as all below
	ReleasedAt  time.Time
	Release     string // ID of the decision

	UpdateTime time.Time // of its document
}

// Names of a freeze's fields in Firestore, beside a record's own.
const (
	FreezeFieldState  = "state"
	freezeFrozenAt    = "frozenAt"
	freezeDeadLetters = "deadLetters"
	freezeReleasedBy  = "releasedBy"
	freezeReleasedAt  = "releasedAt"
	freezeRelease     = "release"
	freezeReason      = "reason"
)

// What happens to freezes, as actions in the audit.
const (
	ActionFreeze   = "freeze"
	ActionRelease  = "release"  // the decision
	ActionReleased = "released" // its end
)

// FreezeID is the document ID of an aggregate's freeze.
func FreezeID(aggregateID string) string { return ID(aggregateID) }

// DecodeFreeze reads a freeze's document. One that does not say that it is being
// released is frozen, whatever it says.
func DecodeFreeze(d Doc) *Freeze {
	f := reading(d.Fields)
	state := Frozen
	if FreezeState(f.text(FreezeFieldState)) == Releasing {
		state = Releasing
	}
	return &Freeze{
		AggregateID: f.text(contracts.FieldAggregateID), State: state, FrozenAt: f.time(freezeFrozenAt),
		Reason: contracts.Reason(f.text(freezeReason)), Outbox: f.text(contracts.DeadFieldOutbox), EventType: f.text(contracts.FieldEventType),
		EventID: f.text(contracts.FieldEventID), TraceID: f.text(contracts.FieldTraceID), DeadLetters: f.texts(freezeDeadLetters),
		ReleasedBy: f.text(freezeReleasedBy), ReleasedAt: f.time(freezeReleasedAt), Release: f.text(freezeRelease), UpdateTime: d.UpdateTime,
	}
}

// ListedMost is how many of the dead letters that froze its aggregate a freeze lists, or some
// more: what breaks the contract is not held, so that an aggregate that is frozen may go on
// dying. A list that fills its document would have no room for a release.
const ListedMost = 100

// Relist keeps the list of a freeze short, in the write of it that is part of the item's
// burial: where ListedMost are listed, as far as known, it is replaced by how it began and the
// item. Relist returns the new list; nil: the item joins the list that there is.
func (i *Item) Relist(freeze *Write, listed []string) []string {
	if len(listed) < ListedMost {
		return nil
	}
	list := slices.Clone(listed[:ListedMost/2])
	if !slices.Contains(list, i.ID) {
		list = append(list, i.ID)
	}
	freeze.Union, freeze.Fields[freezeDeadLetters] = nil, anySlice(list)
	return list
}

// freezes is the write that freezes the item's aggregate; ok is false when it
// has none. A release under way ends with it.
func (i *Item) freezes() (w Write, ok bool) {
	if i.AggregateID == "" {
		return Write{}, false
	}
	return Write{
		Collection: contracts.CollectionFrozen, ID: FreezeID(i.AggregateID), Op: OpMerge,
		Fields: map[string]any{
			contracts.FieldAggregateID: i.AggregateID, FreezeFieldState: string(Frozen), freezeFrozenAt: i.DeadAt, freezeReason: string(i.Reason),
			contracts.DeadFieldOutbox: i.Outbox, contracts.FieldEventType: i.EventType, contracts.FieldEventID: i.EventID, contracts.FieldTraceID: i.TraceID,
			freezeReleasedBy: nil, freezeReleasedAt: nil, freezeRelease: nil,
		},
		Union: map[string][]string{freezeDeadLetters: {i.ID}},
	}, true
}
