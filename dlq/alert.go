package dlq

import (
	"strconv"
	"time"

	"outboxrelay/contracts"
)

// Alert tells the world of a SECURITY_BLOCK dead letter. It is stored in
// domain-error-log with the dead letter and published to domain-errors until
// that was acknowledged.
type Alert struct {
	ID          string // "deadLetterID@deadAt in nanoseconds": a record that dies again alerts again
	DeadLetter  string
	At          time.Time
	Tier        contracts.Tier
	Reason      contracts.Reason
	Outbox      string
	EventID     string
	EventType   string
	TraceID     string
	AggregateID string
	Frozen      bool   // its aggregate was frozen
	LastError   string // of the last attempt

	PublishedAt time.Time // zero: not yet
	UpdateTime  time.Time // of its document
}

// Names of an alert's fields in Firestore, beside a record's own.
const (
	alertSeverity   = "severity" // always "SECURITY"
	alertDeadLetter = "deadLetter"
	alertTier       = "tier"
	alertReason     = "reason"
	alertFrozen     = "frozen"
	// AlertFieldPublishedAt is null until domain-errors acknowledged the alert.
	AlertFieldPublishedAt = "publishedAt"

	severitySecurity = "SECURITY"
)

func alertOf(i *Item) *Alert {
	a := &Alert{
		ID: i.ID + "@" + strconv.FormatInt(i.DeadAt.UnixNano(), 36), DeadLetter: i.ID, At: i.DeadAt, Tier: i.Tier, Reason: i.Reason, Outbox: i.Outbox,
		EventID: i.EventID, EventType: i.EventType, TraceID: i.TraceID, AggregateID: i.AggregateID, Frozen: i.AggregateID != "",
	}
	if n := len(i.Errors); n > 0 {
		a.LastError = i.Errors[n-1].Code + ": " + i.Errors[n-1].Message
	}
	return a
}

func (a *Alert) write() Write {
	return Write{Collection: contracts.CollectionErrorLog, ID: ID(a.ID), Op: OpSet, Fields: map[string]any{
		alertSeverity: severitySecurity, alertDeadLetter: a.DeadLetter, fieldAt: a.At, alertTier: string(a.Tier), alertReason: string(a.Reason),
		contracts.DeadFieldOutbox: a.Outbox, contracts.FieldEventID: a.EventID, contracts.FieldEventType: a.EventType, contracts.FieldTraceID: a.TraceID,
		contracts.FieldAggregateID: a.AggregateID, alertFrozen: a.Frozen, contracts.FieldLastError: a.LastError, AlertFieldPublishedAt: nil,
	}}
}

// DecodeAlert reads an alert's document.
func DecodeAlert(d Doc) *Alert {
	f := reading(d.Fields)
	return &Alert{
		ID: d.ID, DeadLetter: f.text(alertDeadLetter), At: f.time(fieldAt), Tier: contracts.Tier(f.text(alertTier)), Reason: contracts.Reason(f.text(alertReason)),
		Outbox: f.text(contracts.DeadFieldOutbox), EventID: f.text(contracts.FieldEventID), EventType: f.text(contracts.FieldEventType),
		TraceID: f.text(contracts.FieldTraceID), AggregateID: f.text(contracts.FieldAggregateID), Frozen: f.flag(alertFrozen),
		LastError: f.text(contracts.FieldLastError), PublishedAt: f.time(AlertFieldPublishedAt), UpdateTime: d.UpdateTime,
	}
}
