package dlq

import (
	"time"

	"outboxrelay/contracts"
)

// Subject is the kind of thing that a decision is about.
type Subject string

// The subjects of decisions.
const (
	SubjectDeadLetter Subject = "dead_letter"
	SubjectFreeze     Subject = "freeze"
	SubjectLane       Subject = "lane"
	SubjectBulk       Subject = "bulk_replay"
	SubjectOutbox     Subject = "outbox"     // records that were settled by hand
	SubjectQueueItem  Subject = "queue_item" // a document of a work queue, by its path
	SubjectAccess     Subject = "access"     // somebody was turned away
)

// Entry is one line of the audit: a decision of a person, or a change that the
// service made by itself. It is written in the same commit as what it tells of
// and never changed.
type Entry struct {
	ID      string // unique; the decision's own
	At      time.Time
	Actor   string
	Role    Role
	Action  string // an Action, or a word of the subject's own: "freeze", "release", "pause", ...
	Subject Subject
	On      string // what it is about: the dead letter's ID, the aggregate, the lane, the bulk replay
	From    string // the state before; "" where there is none
	To      string
	Reason  string

	Outbox, EventID, EventType, TraceID, AggregateID string
}

// Names of an audit entry's fields in Firestore, beside a record's own.
const (
	auditActor = "actor"
	auditRole  = "role"
	// AuditFieldSubject and AuditFieldOn are of Entry.Subject and Entry.On.
	AuditFieldSubject = "subject"
	AuditFieldOn      = "on"
	auditFrom         = "from"
	auditTo           = "to"
)

// Write renders the entry as the write that creates it. Its time is the
// server's.
func (e *Entry) Write() Write {
	f := map[string]any{
		fieldAt: ServerTime{}, auditActor: e.Actor, auditRole: e.Role.String(), fieldAction: e.Action,
		AuditFieldSubject: string(e.Subject), AuditFieldOn: e.On, auditFrom: e.From, auditTo: e.To, fieldReason: e.Reason,
	}
	for name, v := range map[string]string{
		contracts.DeadFieldOutbox: e.Outbox, contracts.FieldEventID: e.EventID, contracts.FieldEventType: e.EventType,
		contracts.FieldTraceID: e.TraceID, contracts.FieldAggregateID: e.AggregateID,
	} {
		if v != "" {
			f[name] = v
		}
	}
	return Write{Collection: contracts.CollectionAudit, ID: e.ID, Op: OpCreate, Fields: f}
}

// DecodeEntry reads an audit entry's document.
func DecodeEntry(d Doc) *Entry {
	f := reading(d.Fields)
	role, _ := ParseRole(f.text(auditRole))
	return &Entry{
		ID: d.ID, At: f.time(fieldAt), Actor: f.text(auditActor), Role: role, Action: f.text(fieldAction),
		Subject: Subject(f.text(AuditFieldSubject)), On: f.text(AuditFieldOn), From: f.text(auditFrom), To: f.text(auditTo), Reason: f.text(fieldReason),
		Outbox: f.text(contracts.DeadFieldOutbox), EventID: f.text(contracts.FieldEventID), EventType: f.text(contracts.FieldEventType),
		TraceID: f.text(contracts.FieldTraceID), AggregateID: f.text(contracts.FieldAggregateID),
	}
}
