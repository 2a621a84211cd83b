package dlq

import (
	"time"

	"outboxrelay/contracts"
)

// FieldRecordTrimmed is true on a dead letter whose record lacks its payload.
const FieldRecordTrimmed = "recordTrimmed"

// Item is one dead letter.
type Item struct {
	ID               string
	Tier             contracts.Tier // may become stricter; OriginalTier does not
	OriginalTier     contracts.Tier
	State            contracts.DeadState
	Reason           contracts.Reason
	Outbox           string
	RecordPath       string         // "outbox/documentID"
	Record           map[string]any // the whole record as it stood, in the store's own values
	RecordTrimmed    bool           // the copy lacks its payload, which stands only in the outbox document: both would not fit into one
	EventID          string
	EventType        string
	TraceID          string
	IdempotencyKey   string
	AggregateID      string
	AggregateVersion int64
	Lane             contracts.Lane
	PendingTargets   []string
	Errors           []contracts.AttemptError
	Attempts         int
	DeadAt           time.Time
	NextReplayAt     time.Time // SAFE_AUTO only
}

// Fields renders the item as its document.
func (i *Item) Fields() map[string]any {
	errs := make([]any, len(i.Errors))
	for n, e := range i.Errors {
		errs[n] = ErrorFields(e)
	}
	f := map[string]any{
		contracts.DeadFieldTier: string(i.Tier), contracts.DeadFieldOriginalTier: string(i.OriginalTier),
		contracts.DeadFieldState: string(i.State), contracts.DeadFieldReason: string(i.Reason),
		contracts.DeadFieldOutbox: i.Outbox, contracts.DeadFieldRecordPath: i.RecordPath, contracts.DeadFieldRecord: i.Record,
		contracts.FieldEventID: i.EventID, contracts.FieldEventType: i.EventType, contracts.FieldTraceID: i.TraceID,
		contracts.FieldIdempotencyKey: i.IdempotencyKey,
		contracts.FieldAggregateID:    i.AggregateID, contracts.FieldAggregateVersion: i.AggregateVersion,
		contracts.FieldLane: string(i.Lane), contracts.FieldAttempts: i.Attempts,
		contracts.DeadFieldPendingTargets: anySlice(i.PendingTargets), contracts.DeadFieldErrors: errs,
		contracts.DeadFieldDeadAt: i.DeadAt, contracts.DeadFieldReplays: 0, contracts.DeadFieldNextReplayAt: nil,
		contracts.DeadFieldDecisions: []any{},
	}
	if !i.NextReplayAt.IsZero() {
		f[contracts.DeadFieldNextReplayAt] = i.NextReplayAt
	}
	if i.RecordTrimmed {
		f[FieldRecordTrimmed] = true
	}
	return f
}

// ErrorFields renders one failed attempt, as dead letters and records keep it.
func ErrorFields(e contracts.AttemptError) map[string]any {
	return map[string]any{
		contracts.AttemptFieldTime: e.At, contracts.AttemptFieldAttempt: e.Attempt, contracts.AttemptFieldTarget: e.Target,
		contracts.AttemptFieldCode: e.Code, contracts.AttemptFieldMessage: e.Message,
	}
}

func anySlice(ss []string) []any {
	out := make([]any, len(ss))
	for i, s := range ss {
		out[i] = s
	}
	return out
}
