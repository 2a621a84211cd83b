package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// EventKind is the kind of a timeline's event.
type EventKind string

// The kinds of events, in the order in which they are told where they happened
// at the same time.
const (
	EventAppended        EventKind = "appended"
	EventRefused         EventKind = "refused" // it breaks its contract: nobody tried to deliver it
	EventAttemptFailed   EventKind = "attempt_failed"
	EventRetryScheduled  EventKind = "retry_scheduled" // at the time of the next attempt
	EventDeadLettered    EventKind = "dead_lettered"
	EventFrozen          EventKind = "frozen"
	EventAlertStored     EventKind = "alert_stored"
	EventAlertPublished  EventKind = "alert_published"
	EventHeld            EventKind = "held"
	EventDecision        EventKind = "decision"
	EventReplayEnded     EventKind = "replay_ended"
	EventReplayScheduled EventKind = "replay_scheduled" // at the time of the next replay
	EventRelease         EventKind = "release"          // it began
	EventReleased        EventKind = "released"         // it is done
	EventDelivered       EventKind = "delivered"
)

// EventKinds lists every kind.
func EventKinds() []EventKind {
	return []EventKind{
		EventAppended, EventRefused, EventAttemptFailed, EventRetryScheduled, EventDeadLettered, EventFrozen, EventAlertStored, EventAlertPublished,
		EventHeld, EventDecision, EventReplayEnded, EventReplayScheduled, EventRelease, EventReleased, EventDelivered,
	}
}

// Event is one line of a timeline.
type Event struct {
	At      time.Time
	Kind    EventKind
	Summary string // in words
	// What it is about; empty where it does not apply.
	EventID, EventType, Outbox, RecordID, Target, DeadLetter, Actor, Reason, AggregateID string
}

// telling turns what was collected into events. What both a record and its
// dead letter tell, or a dead letter and the audit, is told once.
type telling struct {
	*tracing
	began  time.Time // the first that is known of its records
	events []Event
	told   map[string]bool // by what makes a fact one
}

func (t *tracing) events() []Event {
	l := &telling{tracing: t, began: t.began(), told: make(map[string]bool)}
	for _, e := range t.entries { // the audit tells most of what it tells of
		l.entry(e)
	}
	for _, letter := range t.letters {
		l.letter(letter)
	}
	for _, r := range t.records {
		l.record(r)
	}
	for _, a := range t.alerts {
		l.alert(a)
	}
	for _, f := range t.freezes {
		l.freeze(f)
	}
	kinds := EventKinds()
	slices.SortFunc(l.events, func(a, b Event) int {
		return cmp.Or(
			a.At.Compare(b.At), cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
			cmp.Compare(a.RecordID, b.RecordID), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Summary, b.Summary),
		)
	})
	return l.events
}

// began is when the first of the trace's records was appended; zero when none
// is known.
func (t *tracing) began() time.Time {
	var first time.Time
	earlier := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, r := range t.records {
		earlier(r.CreatedAt)
	}
	for _, i := range t.letters {
		earlier(i.DeadAt)
		earlier(i.appended)
	}
	return first
}

// tell adds an event, unless the fact was told.
func (l *telling) tell(fact string, e Event) {
	if e.At.IsZero() || l.told[fact] {
		return
	}
	l.told[fact] = true
	l.events = append(l.events, e)
}

// record tells of a record as its outbox has it.
func (l *telling) record(r tracedRecord) {
	about := Event{EventID: r.EventID, EventType: r.EventType, Outbox: r.Outbox, RecordID: r.ID, AggregateID: r.AggregateID}
	path := r.Path()
	l.appended(path, r.CreatedAt, about)
	l.attempts(path, r.AttemptErrors, about)
	switch r.Status {
	case contracts.Retrying:
		l.tell("retry "+path, about.as(r.NextAttemptAt, EventRetryScheduled, fmt.Sprintf("attempt %d is due", r.Attempts+1)))
	case contracts.Held:
		l.tell("held "+path, about.as(r.doc.UpdateTime, EventHeld, "held, as aggregate "+r.AggregateID+" was frozen"))
	case contracts.Delivered:
		at, _ := r.doc.Fields[contracts.FieldDeliveredAt].(time.Time)
		l.tell("delivered "+path, about.as(at, EventDelivered, "delivered to "+dlq.InWords(r.DeliveredTargets)))
	}
}

// letter tells of a dead letter.
func (l *telling) letter(i tracedLetter) {
	_, id, _ := strings.Cut(i.RecordPath, "/")
	about := Event{EventID: i.EventID, EventType: i.EventType, Outbox: i.Outbox, RecordID: id, DeadLetter: i.ID, AggregateID: i.AggregateID}
	path := i.RecordPath
	dead := about.as(i.DeadAt, EventDeadLettered, fmt.Sprintf("dead-lettered under %s: %s", i.OriginalTier, i.Reason))
	if i.Consumer != "" { // beside what became of its delivery
		path += "@" + i.Consumer
		dead.Summary = fmt.Sprintf("dead-lettered by consumer %s under %s: %s", i.Consumer, i.Tier, i.Reason)
	} else {
		l.appended(path, i.appended, about)
	}
	l.attempts(path, i.Errors, about)
	dead.Reason = string(i.Reason)
	l.tell("dead "+path, dead)
	for _, d := range i.Decisions {
		e := about.as(d.At, decisionKind(d.Action), decisionSummary(d.Action, d.By))
		if e.Kind == EventReplayEnded && d.By != dlq.Service().Name { // no replay did: see Shelve
			e.Kind, e.Summary = EventDecision, decisionSummary(dlq.ActionShelve, d.By)
		}
		e.Actor, e.Reason = d.By, d.Reason
		l.tell("entry "+d.ID, e)
	}
	if r := i.LastReplay; r != nil {
		action := dlq.Failed
		if r.Delivered {
			action = dlq.Delivered
			l.told["delivered "+path] = true // the same commit
		}
		e := about.as(r.At, EventReplayEnded, decisionSummary(action, ""))
		e.Actor = r.By
		l.tell("entry "+r.ID, e)
	}
	if dlq.Open(i.State) {
		l.tell("replay "+path, about.as(i.NextReplayAt, EventReplayScheduled, fmt.Sprintf("replay %d is due", i.Replays+1)))
	}
}

// appended tells of the append: the copy of a dead letter has the same time as
// the record itself.
func (l *telling) appended(path string, at time.Time, about Event) {
	l.tell("appended "+path, about.as(at, EventAppended, "appended to "+about.Outbox))
}

func (l *telling) attempts(path string, errs []contracts.AttemptError, about Event) {
	for _, a := range errs {
		e := about.as(a.At, EventAttemptFailed, fmt.Sprintf("attempt %d failed: %s: %s", a.Attempt, a.Code, a.Message))
		if a.Attempt == 0 { // one of the faults for which it was refused
			e.Kind, e.Summary = EventRefused, fmt.Sprintf("refused before any attempt: %s: %s", a.Code, a.Message)
		}
		e.Target, e.Reason = a.Target, a.Code
		l.tell(fmt.Sprintf("attempt %s %d %s %d %s", path, a.Attempt, a.Target, a.At.UnixMicro(), a.Message), e)
	}
}

// entry tells of an audit entry.
func (l *telling) entry(e *dlq.Entry) {
	about := Event{EventID: e.EventID, EventType: e.EventType, Outbox: e.Outbox, Actor: e.Actor, Reason: e.Reason, AggregateID: e.AggregateID}
	fact := "entry " + e.ID
	switch {
	case e.Subject == dlq.SubjectDeadLetter:
		about.DeadLetter = e.On
		l.tell(fact, about.as(e.At, decisionKind(dlq.Action(e.Action)), decisionSummary(dlq.Action(e.Action), e.Actor)))
	case e.TraceID != l.traceID && e.At.Before(l.began):
		// How the aggregate was frozen before there was this trace.
	case e.Subject != dlq.SubjectFreeze:
		l.tell(fact, about.as(e.At, EventDecision, fmt.Sprintf("%s: %s of %s %s", e.Actor, e.Action, e.Subject, e.On)))
	case e.Action == dlq.ActionFreeze:
		l.told["frozen "+e.On+" "+e.EventID] = true
		l.tell(fact, about.as(e.At, EventFrozen, "aggregate "+e.On+" frozen: later records of it are held"))
	case e.Action == dlq.ActionRelease:
		l.tell(fact, about.as(e.At, EventRelease, releaseSummary(e.Actor, e.On)))
	case e.Action == dlq.ActionReleased:
		l.tell(fact, about.as(e.At, EventReleased, "aggregate "+e.On+" released: what was held may be delivered again"))
	}
}

func (l *telling) alert(a *dlq.Alert) {
	about := Event{
		EventID: a.EventID, EventType: a.EventType, Outbox: a.Outbox, DeadLetter: a.DeadLetter, Reason: string(a.Reason), AggregateID: a.AggregateID,
	}
	l.tell("alert "+a.ID, about.as(a.At, EventAlertStored, "alert stored in "+contracts.CollectionErrorLog))
	l.tell("published "+a.ID, about.as(a.PublishedAt, EventAlertPublished, "alert published to "+contracts.TopicErrors))
}

func (l *telling) freeze(f *dlq.Freeze) {
	about := Event{EventID: f.EventID, EventType: f.EventType, Outbox: f.Outbox, Reason: string(f.Reason), AggregateID: f.AggregateID}
	l.tell("frozen "+f.AggregateID+" "+f.EventID, about.as(f.FrozenAt, EventFrozen, "aggregate "+f.AggregateID+" frozen: later records of it are held"))
	release := about.as(f.ReleasedAt, EventRelease, releaseSummary(f.ReleasedBy, f.AggregateID))
	release.Actor, release.Reason = f.ReleasedBy, ""
	l.tell("entry "+f.Release, release)
}

// as is the event of a kind that is about the same as e.
func (e Event) as(at time.Time, kind EventKind, summary string) Event {
	e.At, e.Kind, e.Summary = at, kind, summary
	return e
}

func decisionKind(a dlq.Action) EventKind {
	switch a {
	case dlq.Delivered, dlq.Failed, dlq.Exhausted:
		return EventReplayEnded
	default:
		return EventDecision
	}
}

func releaseSummary(by, aggregate string) string {
	return by + " asked for the release of aggregate " + aggregate
}

func decisionSummary(a dlq.Action, by string) string {
	switch a {
	case dlq.Replay:
		return by + " asked for a replay"
	case dlq.Discard:
		return by + " discarded it"
	case dlq.Authorize:
		return by + " authorized its replay"
	case dlq.Withdraw:
		return by + " withdrew its replay"
	case dlq.Note:
		return by + " noted something"
	case dlq.ActionUncover:
		return by + " uncovered its payload"
	case dlq.Delivered:
		return "a replay delivered it"
	case dlq.Failed:
		return "a replay failed"
	case dlq.Exhausted:
		return "the last automatic replay failed: it went to review"
	case dlq.ActionShelve:
		return by + " took it off its replays"
	}
	return by + ": " + string(a)
}
