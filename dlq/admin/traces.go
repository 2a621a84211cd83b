package admin

import (
	"context"
	"net/http"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/trace"
)

// Timeline is all that is known of a trace.
type Timeline struct {
	TraceID     string       `json:"traceId" example:"trace-1"`
	Events      []Event      `json:"events" nullable:"false" doc:"What happened, oldest first."`
	Records     []Record     `json:"records" nullable:"false" doc:"Its records as they stand in their outboxes."`
	DeadLetters []DeadLetter `json:"deadLetters" nullable:"false"`
	Freezes     []Freeze     `json:"freezes" nullable:"false" doc:"Of its aggregates, as they stand."`
	Truncated   bool         `json:"truncated" doc:"There is more than is shown."`
}

// Event is one line of a timeline. What does not apply is left out.
type Event struct {
	At          time.Time       `json:"at,omitzero"`
	Kind        trace.EventKind `json:"kind" example:"appended"`
	Summary     string          `json:"summary" example:"appended to accOutbox" doc:"In words."`
	EventID     string          `json:"eventId,omitempty"`
	EventType   string          `json:"eventType,omitempty"`
	Outbox      string          `json:"outbox,omitempty"`
	RecordID    string          `json:"recordId,omitempty"`
	Target      string          `json:"target,omitempty"`
	DeadLetter  string          `json:"deadLetter,omitempty"`
	Actor       string          `json:"actor,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	AggregateID string          `json:"aggregateId,omitempty"`
}

// Record is one outbox record without its payload.
type Record struct {
	Path             string           `json:"path" example:"accOutbox/7f0c:acc-1:3"`
	Status           contracts.Status `json:"status" example:"dead"`
	EventID          string           `json:"eventId"`
	EventType        string           `json:"eventType"`
	TraceID          string           `json:"traceId"`
	AggregateID      string           `json:"aggregateId"`
	AggregateVersion *int64           `json:"aggregateVersion" doc:"null where it has no sound one."`
	IdempotencyKey   string           `json:"idempotencyKey"`
	Lane             contracts.Lane   `json:"lane"`
	CreatedAt        time.Time        `json:"createdAt,omitzero"`
	Attempts         int              `json:"attempts"`
	DeliveredTargets []string         `json:"deliveredTargets" nullable:"false"`
}

// AuditEntry is one line of the audit.
type AuditEntry struct {
	ID          string      `json:"id"`
	At          time.Time   `json:"at"`
	Actor       string      `json:"actor" example:"alice@example.com" doc:"Who; relay for the service itself."`
	Role        string      `json:"role" example:"operator" doc:"At that time."`
	Action      string      `json:"action" example:"replay"`
	Subject     dlq.Subject `json:"subject" enum:"dead_letter,freeze,lane,bulk_replay,outbox,queue_item,access" doc:"The kind of thing that it is about."`
	On          string      `json:"on" example:"7f0c:acc-1:3" doc:"What it is about."`
	From        string      `json:"from,omitempty" example:"awaiting_review" doc:"The state before."`
	To          string      `json:"to,omitempty" example:"awaiting_review" doc:"The state after."`
	Reason      string      `json:"reason,omitempty" example:"the consumer was mended"`
	Outbox      string      `json:"outbox,omitempty"`
	EventID     string      `json:"eventId,omitempty"`
	EventType   string      `json:"eventType,omitempty"`
	TraceID     string      `json:"traceId,omitempty"`
	AggregateID string      `json:"aggregateId,omitempty"`
}

// AuditList is one page of the audit, the latest first.
type AuditList struct {
	Items         []AuditEntry `json:"items" nullable:"false"`
	NextPageToken string       `json:"nextPageToken,omitempty" doc:"For the next page."`
}

// RecordList is records that were looked for.
type RecordList struct {
	Items     []Record `json:"items" nullable:"false" doc:"The latest first."`
	Truncated bool     `json:"truncated" doc:"There are more than are shown, which may be as recent."`
}

type recordsInput struct {
	EventID     string `query:"eventId" maxLength:"1500" example:"7f0c" doc:"Those of this event. Either this or aggregateId is given."`
	AggregateID string `query:"aggregateId" maxLength:"1500" example:"acc-1" doc:"Those of this aggregate."`
}

type traceInput struct {
	TraceID string `path:"traceId" example:"trace-1" doc:"The trace ID, percent-encoded. Those that are . and .., which no path carries, stand as %252E and %252E. there."`
}

type auditInput struct {
	Actor   string      `query:"actor" maxLength:"1500" example:"alice@example.com" doc:"Those of this identity."`
	Action  string      `query:"action" maxLength:"1500" example:"replay" doc:"Those of this action."`
	On      string      `query:"on" maxLength:"1500" example:"7f0c:acc-1:3" doc:"Those about this dead letter, aggregate, lane, bulk replay or document of a work queue."`
	TraceID string      `query:"traceId" maxLength:"1500" example:"trace-1" doc:"Those of this trace."`
	Subject dlq.Subject `query:"subject" enum:"dead_letter,freeze,lane,bulk_replay,outbox,queue_item,access" doc:"Those about this kind of thing."`
	From    time.Time   `query:"from" example:"2026-03-01T00:00:00Z" doc:"Those of this time or later."`
	To      time.Time   `query:"to" example:"2026-03-02T00:00:00Z" doc:"Those before this time."`
	PageQuery
}

// traces adds the operations that look back.
func (a *api) traces() {
	register(a, route{
		method: http.MethodGet, path: "/trace/{traceId}", role: dlq.Viewer, name: "get-trace", tag: tagHistory,
		summary: "Tell all that is known of a trace", description: "Its records, dead letters and freezes, and what happened to them as a timeline. Payloads are not part of it.",
		also: []int{http.StatusNotFound},
	}, a.trace)
	register(a, route{
		method: http.MethodGet, path: "/records", role: dlq.Viewer, name: "list-records", tag: tagHistory,
		summary: "Find records by their event or aggregate", description: "In every outbox, whatever became of them, at most 50 of each; delivered ones as long as their outbox keeps them. Payloads are not part of it. Each names its trace.",
	}, a.records)
	register(a, route{
		method: http.MethodGet, path: "/audit", role: dlq.Viewer, name: "list-audit", tag: tagHistory,
		summary: "List who decided what", description: "The latest first. All filters hold together.",
	}, a.audit)
}

func (a *api) trace(ctx context.Context, in *traceInput) (*output[Timeline], error) {
	traceID := dlq.NamedTrace(in.TraceID)
	about(ctx, traceID)
	t, err := a.config.History.Trace(ctx, traceID)
	if err != nil {
		return nil, err
	}
	return &output[Timeline]{Timeline{
		TraceID: t.TraceID, Events: convert(t.Events, eventOf), Records: convert(t.Records, recordOf),
		DeadLetters: convert(t.DeadLetters, deadLetterOf), Freezes: convert(t.Freezes, freezeOf), Truncated: t.Truncated,
	}}, nil
}

func (a *api) records(ctx context.Context, in *recordsInput) (*output[RecordList], error) {
	found, err := a.config.History.Records(ctx, trace.RecordFilter{EventID: in.EventID, AggregateID: in.AggregateID})
	if err != nil {
		return nil, err
	}
	return &output[RecordList]{RecordList{convert(found.Records, recordOf), found.Truncated}}, nil
}

func eventOf(e trace.Event) Event {
	return Event{
		At: e.At, Kind: e.Kind, Summary: e.Summary, EventID: e.EventID, EventType: e.EventType, Outbox: e.Outbox, RecordID: e.RecordID,
		Target: e.Target, DeadLetter: e.DeadLetter, Actor: e.Actor, Reason: e.Reason, AggregateID: e.AggregateID,
	}
}

func recordOf(r trace.Record) Record {
	out := Record{
		Path: r.Path(), Status: r.Status, EventID: r.EventID, EventType: r.EventType, TraceID: r.TraceID,
		AggregateID: r.AggregateID, IdempotencyKey: r.IdempotencyKey, Lane: r.Lane, CreatedAt: r.CreatedAt, Attempts: r.Attempts,
		DeliveredTargets: append([]string{}, r.DeliveredTargets...),
	}
	if !r.Versionless {
		out.AggregateVersion = &r.AggregateVersion
	}
	return out
}

func (a *api) audit(ctx context.Context, in *auditInput) (*output[AuditList], error) {
	about(ctx, in.TraceID)
	page, err := a.config.History.Audit(ctx, dlq.AuditFilter{
		Actor: in.Actor, Action: in.Action, On: in.On, TraceID: in.TraceID, Subject: in.Subject, From: in.From, To: in.To,
	}, in.page())
	if err != nil {
		return nil, err
	}
	return &output[AuditList]{AuditList{convert(page.Items, entryOf), page.Next}}, nil
}

func entryOf(e *dlq.Entry) AuditEntry {
	return AuditEntry{
		ID: e.ID, At: e.At, Actor: e.Actor, Role: e.Role.String(), Action: e.Action, Subject: e.Subject, On: e.On, From: e.From, To: e.To,
		Reason: e.Reason, Outbox: e.Outbox, EventID: e.EventID, EventType: e.EventType, TraceID: e.TraceID, AggregateID: e.AggregateID,
	}
}
