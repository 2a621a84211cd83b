package dlq

import (
	"outboxrelay/contracts"
)

// Names of the fields of a dead letter's maps, beside those of an attempt.
const (
	fieldID      = "id"
	fieldAction  = "action"
	fieldBy      = "by"
	fieldAt      = "at"
	fieldReason  = "reason"
	fieldBulk    = "bulk"
	fieldRequest = "request"
	fieldOutcome = "outcome" // "delivered" or "failed"
)

// Fields renders the item as its document.
func (i *Item) Fields() map[string]any {
	f := map[string]any{
		contracts.DeadFieldTier: string(i.Tier), contracts.DeadFieldOriginalTier: string(i.OriginalTier),
		contracts.DeadFieldState: string(i.State), contracts.DeadFieldReason: string(i.Reason), contracts.DeadFieldOpen: Open(i.State),
		contracts.DeadFieldOutbox: i.Outbox, contracts.DeadFieldRecordPath: i.RecordPath, contracts.DeadFieldRecord: i.Record,
		contracts.FieldEventID: i.EventID, contracts.FieldEventType: i.EventType, contracts.FieldTraceID: i.TraceID,
		contracts.FieldIdempotencyKey: i.IdempotencyKey,
		contracts.FieldAggregateID:    i.AggregateID, contracts.FieldAggregateVersion: i.AggregateVersion,
		contracts.FieldLane: string(i.Lane), contracts.FieldAttempts: i.Attempts,
		contracts.DeadFieldPendingTargets: anySlice(i.PendingTargets), contracts.DeadFieldErrors: errorList(i.Errors),
		contracts.DeadFieldDeadAt: i.DeadAt, contracts.DeadFieldReplays: i.Replays, contracts.DeadFieldNextReplayAt: nil,
		contracts.DeadFieldDecisions: decisionList(i.Decisions), contracts.DeadFieldGroup: i.Group,
	}
	if i.Versionless {
		f[contracts.FieldAggregateVersion] = nil // which no query for older or younger ones finds
	}
	if !i.NextReplayAt.IsZero() {
		f[contracts.DeadFieldNextReplayAt] = i.NextReplayAt
	}
	if i.Consumer != "" {
		f[contracts.DeadFieldConsumer] = i.Consumer
	}
	if i.RecordTrimmed {
		f[contracts.DeadFieldRecordTrimmed] = true
	}
	if r := i.Replaying; r != nil {
		f[contracts.DeadFieldReplaying] = requestFields(r)
	}
	if e := i.LastReplay; e != nil {
		f[contracts.DeadFieldLastReplay] = endedFields(e)
	}
	if i.AuthorizedBy != "" {
		f[contracts.DeadFieldAuthorizedBy] = i.AuthorizedBy
	}
	if i.RelayTraceparent != "" {
		f[contracts.DeadFieldRelayTraceparent] = i.RelayTraceparent
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

func errorList(errs []contracts.AttemptError) []any {
	out := make([]any, len(errs))
	for n, e := range errs {
		out[n] = ErrorFields(e)
	}
	return out
}

func decisionList(ds []Decision) []any {
	out := make([]any, len(ds))
	for n, d := range ds {
		out[n] = map[string]any{fieldID: d.ID, fieldAction: string(d.Action), fieldBy: d.By, fieldAt: d.At, fieldReason: d.Reason}
	}
	return out
}

func requestFields(r *Request) map[string]any {
	f := map[string]any{fieldID: r.ID, fieldBy: r.By, fieldAt: r.At, fieldReason: r.Reason, fieldBulk: r.Bulk}
	if r.Waits.Tells() {
		f[requestWaits] = r.Waits.fields()
	}
	return f
}

func endedFields(e *Ended) map[string]any {
	outcome := string(Failed)
	if e.Delivered {
		outcome = string(Delivered)
	}
	return map[string]any{
		fieldID: e.ID, fieldAt: e.At, fieldOutcome: outcome, fieldRequest: e.Request, fieldBulk: e.Bulk, fieldBy: e.By,
	}
}

func anySlice(ss []string) []any {
	out := make([]any, len(ss))
	for i, s := range ss {
		out[i] = s
	}
	return out
}

// DecodeItem reads a dead letter's document. It is lenient: a field that is
// missing or mistyped is left zero, as an operator must be able to look at
// whatever stands there.
func DecodeItem(d Doc) *Item {
	f := reading(d.Fields)
	i := &Item{
		ID: d.ID, UpdateTime: d.UpdateTime,
		Tier: contracts.Tier(f.text(contracts.DeadFieldTier)), OriginalTier: contracts.Tier(f.text(contracts.DeadFieldOriginalTier)),
		State: contracts.DeadState(f.text(contracts.DeadFieldState)), Reason: contracts.Reason(f.text(contracts.DeadFieldReason)),
		Outbox: f.text(contracts.DeadFieldOutbox), RecordPath: f.text(contracts.DeadFieldRecordPath),
		Record: f.object(contracts.DeadFieldRecord), RecordTrimmed: f.flag(contracts.DeadFieldRecordTrimmed),
		EventID: f.text(contracts.FieldEventID), EventType: f.text(contracts.FieldEventType), TraceID: f.text(contracts.FieldTraceID),
		IdempotencyKey: f.text(contracts.FieldIdempotencyKey),
		AggregateID:    f.text(contracts.FieldAggregateID), AggregateVersion: f.integer(contracts.FieldAggregateVersion),
		Lane: contracts.Lane(f.text(contracts.FieldLane)), Attempts: int(f.integer(contracts.FieldAttempts)),
		PendingTargets: f.texts(contracts.DeadFieldPendingTargets), Consumer: f.text(contracts.DeadFieldConsumer),
		DeadAt: f.time(contracts.DeadFieldDeadAt), Replays: int(f.integer(contracts.DeadFieldReplays)),
		NextReplayAt: f.time(contracts.DeadFieldNextReplayAt), Group: f.text(contracts.DeadFieldGroup),
		AuthorizedBy: f.text(contracts.DeadFieldAuthorizedBy), RelayTraceparent: f.text(contracts.DeadFieldRelayTraceparent),
	}
	version, ok := f[contracts.FieldAggregateVersion]
	i.Versionless = ok && version == nil
	for _, e := range f.objects(contracts.DeadFieldErrors) {
		i.Errors = append(i.Errors, contracts.AttemptError{
			At: e.time(contracts.AttemptFieldTime), Attempt: int(e.integer(contracts.AttemptFieldAttempt)), Target: e.text(contracts.AttemptFieldTarget),
			Code: e.text(contracts.AttemptFieldCode), Message: e.text(contracts.AttemptFieldMessage),
		})
	}
	for _, d := range f.objects(contracts.DeadFieldDecisions) {
		i.Decisions = append(i.Decisions, Decision{
			ID: d.text(fieldID), Action: Action(d.text(fieldAction)), By: d.text(fieldBy), At: d.time(fieldAt), Reason: d.text(fieldReason),
		})
	}
	if r := reading(f.object(contracts.DeadFieldReplaying)); len(r) > 0 {
		i.Replaying = &Request{ID: r.text(fieldID), By: r.text(fieldBy), At: r.time(fieldAt), Reason: r.text(fieldReason), Bulk: r.text(fieldBulk), Waits: decodeWaits(r.object(requestWaits))}
	}
	if e := reading(f.object(contracts.DeadFieldLastReplay)); len(e) > 0 {
		i.LastReplay = &Ended{
			ID: e.text(fieldID), At: e.time(fieldAt), Delivered: e.text(fieldOutcome) == string(Delivered),
			Request: e.text(fieldRequest), Bulk: e.text(fieldBulk), By: e.text(fieldBy),
		}
	}
	return i
}
