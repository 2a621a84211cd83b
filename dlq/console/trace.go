package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// addTrace adds the screen that finds out what became of an event.
func addTrace(s *server) {
	s.screen("/trace", "trace.html", s.loadTrace)
}

// tracePage is what the search shows.
type tracePage struct {
	TraceID, EventID, AggregateID string // as they were asked for

	Asked    bool
	Searched string // what was looked for, in words
	NotFound string // why nothing is shown; "": something is
	Hint     string
	Timeline timelineView
	Records  []admin.Record
	More     bool // there are more records than are shown
	Letters  []admin.DeadLetter
	Older    bool // there are more dead letters than are shown
	Freezes  []admin.Freeze
	Command  string
}

// maxTraceLetters is how many dead letters of an event or aggregate are shown.
const maxTraceLetters = 50

// loadTrace looks for what its address names: a trace, which is told as a
// timeline, or an event or aggregate, which lead to their traces. An event that
// has one trace alone is told at once.
func (s *server) loadTrace(ctx context.Context, v *visit) (*page, error) {
	q := v.URL.Query()
	asked := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	p := &tracePage{TraceID: asked("traceId"), EventID: asked("eventId"), AggregateID: asked("aggregateId")}
	out := &page{Title: "Trace", Section: "trace", Content: p}
	given := slices.DeleteFunc([]string{p.TraceID, p.EventID, p.AggregateID}, func(s string) bool { return s == "" })
	if len(given) == 0 {
		return out, nil
	}
	p.Asked = true
	if len(given) > 1 {
		p.NotFound, p.Hint = "more than one field is filled in", "fill in one: each of them leads to the others"
		return out, nil
	}
	err := s.findTrace(ctx, v, p)
	if refusal, ok := errors.AsType[*admin.Problem](err); ok && refusal.Status < http.StatusInternalServerError && refusal.Status != http.StatusTooManyRequests {
		p.NotFound, p.Hint, err = refusal.Detail, refusal.Hint, nil
	}
	out.Follows = []string{topicAudit, topicDLQ}
	return out, err
}

// findTrace looks for the one thing that is asked for.
func (s *server) findTrace(ctx context.Context, v *visit, p *tracePage) error {
	traceID := p.TraceID
	if traceID == "" {
		found, err := s.findRecords(ctx, v, p)
		if err != nil || found == "" {
			return err
		}
		traceID = found
	}
	if p.Searched == "" {
		p.Searched = "trace " + traceID
	}
	t, err := get[admin.Timeline](ctx, v.ask, apiPath("trace", dlq.TraceName(traceID)), nil)
	if err != nil {
		return err
	}
	p.Timeline = timelineOf(t, "", time.Now(), 0)
	p.Records, p.Letters, p.Freezes = t.Records, t.DeadLetters, t.Freezes
	p.Command = traceCommand(traceID)
	return nil
}

// findRecords looks for an event or an aggregate, among the records and the dead
// letters. It returns the trace when an event has one alone.
func (s *server) findRecords(ctx context.Context, v *visit, p *tracePage) (traceID string, err error) {
	name, value := "eventId", p.EventID
	p.Searched = "event " + p.EventID
	if value == "" {
		name, value = "aggregateId", p.AggregateID
		p.Searched = "aggregate " + p.AggregateID
	}
	records, err := get[admin.RecordList](ctx, v.ask, apiPath("records"), url.Values{name: {value}})
	if err != nil {
		return "", err
	}
	letters, err := get[admin.DeadLetterList](ctx, v.ask, apiPath("dlq"), url.Values{name: {value}, "limit": {fmt.Sprint(maxTraceLetters)}})
	if err != nil {
		return "", err
	}
	p.Records, p.More, p.Letters, p.Older = records.Items, records.Truncated, letters.Items, letters.NextPageToken != ""
	traces := make(map[string]bool)
	for _, r := range p.Records {
		traces[r.TraceID] = true
	}
	for _, l := range p.Letters {
		traces[l.TraceID] = true
	}
	switch {
	case len(p.Records)+len(p.Letters) == 0:
		p.NotFound = "no record and no dead letter of it is known, in any outbox"
		p.Hint = "records that were delivered are deleted after the retention of their outbox; check the spelling, upper and lower case differ"
	case p.EventID != "" && len(traces) == 1 && !traces[""]:
		for id := range traces {
			return id, nil
		}
	}
	return "", nil
}

// traceCommand is the same on the command line.
func traceCommand(traceID string) string {
	if strings.HasPrefix(traceID, "-") || !pastable(traceID) {
		return ""
	}
	return shell("outbox-relay", "dlq", "trace", traceID)
}
