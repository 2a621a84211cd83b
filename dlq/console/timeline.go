package console

import (
	"strings"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/trace"
)

// timelineView is what happened in a trace, as a line from top to bottom.
type timelineView struct {
	TraceID   string
	Events    []happening
	Earlier   int    // events before these that are left out
	Truncated bool   // there is more than anybody was told
	WhyNot    string // why there is none; "": there is
}

// happening is one event of a timeline.
type happening struct {
	admin.Event

	Label  string
	Tone   string // good, warn, bad, or "" for what is neither
	Future bool   // it is still to come
	Record string // path of its record; "" where none is named
	Said   bool   // its reason is what a person gave
}

// maxItemEvents is how many events of its trace the page of a dead letter shows;
// the trace's own shows all that it is told.
const maxItemEvents = 100

// kinds are what the kinds of events are called, and how they are to be taken.
var kinds = map[trace.EventKind]struct{ label, tone string }{
	trace.EventAppended:        {"appended", ""},
	trace.EventRefused:         {"refused", "bad"},
	trace.EventAttemptFailed:   {"attempt failed", "bad"},
	trace.EventRetryScheduled:  {"retry planned", "warn"},
	trace.EventDeadLettered:    {"dead letter", "bad"},
	trace.EventFrozen:          {"frozen", "bad"},
	trace.EventAlertStored:     {"alert stored", "warn"},
	trace.EventAlertPublished:  {"alert sent", "warn"},
	trace.EventHeld:            {"held", "warn"},
	trace.EventDecision:        {"decision", ""},
	trace.EventReplayEnded:     {"replay ended", ""},
	trace.EventReplayScheduled: {"replay planned", "warn"},
	trace.EventRelease:         {"release", ""},
	trace.EventReleased:        {"released", "good"},
	trace.EventDelivered:       {"delivered", "good"},
}

// timelineOf renders a timeline, its last events up to limit; 0: all. t is nil
// where there is none, and whyNot says why.
func timelineOf(t *admin.Timeline, whyNot string, now time.Time, limit int) timelineView {
	if t == nil {
		return timelineView{WhyNot: whyNot}
	}
	events := t.Events
	out := timelineView{TraceID: t.TraceID, Truncated: t.Truncated}
	if limit > 0 && len(events) > limit {
		out.Earlier = len(events) - limit
		events = events[out.Earlier:]
	}
	for _, e := range events {
		h := happening{Event: e, Label: string(e.Kind), Future: e.At.After(now)}
		h.Said = e.Reason != "" && e.Actor != "" && e.Actor != dlq.Service().Name
		if k, ok := kinds[e.Kind]; ok {
			h.Label, h.Tone = k.label, k.tone
		}
		if e.Kind == trace.EventReplayEnded {
			h.Tone = "bad"
			if strings.HasSuffix(e.Summary, "delivered it") {
				h.Tone = "good"
			}
		}
		if e.Outbox != "" && e.RecordID != "" {
			h.Record = e.Outbox + "/" + e.RecordID
		}
		out.Events = append(out.Events, h)
	}
	return out
}
