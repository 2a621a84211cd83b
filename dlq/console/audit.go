package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// addAudit adds the screen of who decided what.
func addAudit(s *server) {
	s.screen("/audit", "audit.html", s.loadAudit)
}

// auditPage is one page of the audit.
type auditPage struct {
	Filter   auditFilter
	Subjects []subjectName
	Actions  []string // that are offered; others can be typed
	Entries  []auditLine
	First    bool   // it is the first page, which follows
	Next     string // address of the next one; "" at the end
	Newest   string // address of the first one
	Command  string
}

// auditFilter is the filter as its fields show it.
type auditFilter struct {
	Actor, Action, On, TraceID, Subject, From, To string
}

// Any reports whether the filter narrows anything.
func (f auditFilter) Any() bool { return f != auditFilter{} }

type subjectName struct{ Value, Name string }

// auditSubjects are the kinds of things that decisions are about.
var auditSubjects = []subjectName{
	{string(dlq.SubjectDeadLetter), "dead letters"},
	{string(dlq.SubjectFreeze), "freezes"},
	{string(dlq.SubjectLane), "lanes"},
	{string(dlq.SubjectBulk), "bulk replays"},
	{string(dlq.SubjectOutbox), "records settled by hand"},
	{string(dlq.SubjectQueueItem), "documents of work queues"},
	{string(dlq.SubjectAccess), "who was turned away"},
}

// auditActions are the words of the audit.
var auditActions = []string{
	"replay", "authorize", "withdraw", "discard", "note", "uncover", "delivered", "failed", "exhausted", "freeze", "release", "released", "pause", "resume",
	"start", "cancel", "finish", "stop", "restore", "shelve", "requeue", "refused",
}

// auditLine is one entry, with where it leads.
type auditLine struct {
	admin.AuditEntry

	Link string // to what it is about; "" where there is no page of it
	Bad  bool   // it tells of something that failed or was refused
}

// loadAudit loads one page of the audit.
func (s *server) loadAudit(ctx context.Context, v *visit) (*page, error) {
	q := v.URL.Query()
	value := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	p := &auditPage{
		Filter:   auditFilter{value("actor"), value("action"), value("on"), value("traceId"), value("subject"), value("from"), value("to")},
		Subjects: auditSubjects, Actions: auditActions, First: value("page") == "",
	}
	out := &page{Title: "Audit", Section: "audit", Content: p}
	p.Filter = p.Filter.settled(time.Now())
	p.Command = p.Filter.command()
	p.Newest = address("/audit", p.Filter.values())
	asked := p.Filter.values()
	if !p.First {
		asked.Set("pageToken", value("page"))
	}
	list, err := get[admin.AuditList](ctx, v.ask, apiPath("audit"), asked)
	if refusal, ok := errors.AsType[*admin.Problem](err); ok && (refusal.Status == http.StatusUnprocessableEntity || refusal.Status == http.StatusRequestURITooLong) {
		out.Notice = &notice{Bad: true, Text: refusal.Detail, Hint: refusal.Hint}
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range list.Items {
		p.Entries = append(p.Entries, auditLine{e, auditLink(e), e.Action == string(dlq.Failed) || e.Action == string(dlq.Exhausted) || e.Subject == dlq.SubjectAccess})
	}
	if list.NextPageToken != "" {
		next := p.Filter.values()
		next.Set("page", list.NextPageToken)
		p.Next = address("/audit", next)
	}
	if p.First {
		out.Follows = []string{topicAudit} // older pages never change
	}
	return out, nil
}

// values is the filter as an address has it.
func (f auditFilter) values() url.Values {
	out := make(url.Values)
	for name, value := range map[string]string{
		"actor": f.Actor, "action": f.Action, "on": f.On, "traceId": f.TraceID, "subject": f.Subject, "from": f.From, "to": f.To,
	} {
		if value != "" {
			out.Set(name, value)
		}
	}
	return out
}

// settled makes times that were typed the same for everybody who is given the
// address; one that cannot be read is left to the API to refuse.
func (f auditFilter) settled(now time.Time) auditFilter {
	for _, text := range []*string{&f.From, &f.To} {
		if t, ok := timeTyped(*text, now); ok {
			*text = t.UTC().Format(time.RFC3339)
		}
	}
	return f
}

// command asks for the same on the command line; "" for what cannot be pasted
// safely.
func (f auditFilter) command() string {
	return shellWith([]string{"outbox-relay", "dlq", "audit"}, []flag{
		{"--actor", f.Actor}, {"--action", f.Action}, {"--on", f.On}, {"--trace-id", f.TraceID}, {"--subject", f.Subject}, {"--from", f.From}, {"--to", f.To},
	})
}

// auditLink is the page of what an entry is about.
func auditLink(e admin.AuditEntry) string {
	switch {
	case e.On == "":
	case e.Subject == dlq.SubjectDeadLetter:
		return pathTo("dlq", dlq.LetterName(e.On))
	case e.Subject == dlq.SubjectBulk:
		return pathTo("replays", e.On)
	case e.Subject == dlq.SubjectFreeze:
		return pathTo("freezes", dlq.FreezeName(e.On))
	case e.Subject == dlq.SubjectLane:
		return pathTo("lanes")
	case e.Subject == dlq.SubjectQueueItem:
		return at("/queueitem", "path", e.On)
	}
	return ""
}
