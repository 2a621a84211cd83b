package dlq

import (
	"context"
	"fmt"
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
	LastError   string // of the last attempt: all its faults

	PublishedAt time.Time // zero: not yet
	UpdateTime  time.Time // of its document
}

// Names of an alert's fields in Firestore, beside a record's own.
const (
	alertSeverity   = "severity" // always SeveritySecurity
	alertDeadLetter = "deadLetter"
	alertTier       = "tier"
	alertReason     = "reason"
	alertFrozen     = "frozen"
	// AlertFieldPublishedAt is null until domain-errors acknowledged the alert.
	AlertFieldPublishedAt = "publishedAt"
)

// SeveritySecurity is the severity of every alert.
const SeveritySecurity = "SECURITY"

func alertOf(i *Item) *Alert {
	a := &Alert{
		ID: i.ID + "@" + strconv.FormatInt(i.DeadAt.UnixNano(), 36), DeadLetter: i.ID, At: i.DeadAt, Tier: i.Tier, Reason: i.Reason, Outbox: i.Outbox,
		EventID: i.EventID, EventType: i.EventType, TraceID: i.TraceID, AggregateID: i.AggregateID, Frozen: i.AggregateID != "",
	}
	if e, ok := contracts.LastFailure(i.Errors); ok {
		a.LastError = e.Code + ": " + e.Message
	}
	return a
}

func (a *Alert) write() Write {
	return Write{Collection: contracts.CollectionErrorLog, ID: ID(a.ID), Op: OpSet, Fields: map[string]any{
		alertSeverity: SeveritySecurity, alertDeadLetter: a.DeadLetter, fieldAt: a.At, alertTier: string(a.Tier), alertReason: string(a.Reason),
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

// alertPage is how many alerts Unpublished reads.
const alertPage = 100

// unpublished finds the alerts that wait.
var unpublished = Query{
	Collection: contracts.CollectionErrorLog, Where: []Where{{AlertFieldPublishedAt, "==", nil}},
	OrderBy: []Order{{Field: FieldID}}, Limit: alertPage,
}

// Unpublished reads a page of the alerts that wait to be published, in the order
// of their IDs: those behind after, or the first of all where that is empty. next
// is where the next page begins; "": there is none.
func (q *Queue) Unpublished(ctx context.Context, after string) (page []*Alert, next string, err error) {
	docs, next, err := q.pageByID(ctx, unpublished, after)
	if err != nil {
		return nil, "", fmt.Errorf("find alerts: %w", err)
	}
	for _, d := range docs {
		page = append(page, DecodeAlert(d))
	}
	return page, next, nil
}

// MarkPublished notes that an alert was published. One that was marked by somebody
// else meanwhile, or is gone, is left as it is.
func (q *Queue) MarkPublished(ctx context.Context, a *Alert) error {
	_, err := q.store.Commit(ctx, []Write{{
		Collection: contracts.CollectionErrorLog, ID: a.ID, Op: OpUpdate, IfUnchangedSince: a.UpdateTime,
		Fields: map[string]any{AlertFieldPublishedAt: ServerTime{}},
	}})
	if err != nil && !IsRefused(err) {
		return fmt.Errorf("mark alert %s as published: %w", a.ID, err)
	}
	return nil
}
