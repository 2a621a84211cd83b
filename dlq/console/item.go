package console

import (
	"context"
	"errors"
	"net/http"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// addItem adds the screen of one dead letter, with all that can be decided about
// it.
func addItem(s *server) {
	on := s.screen("/dlq/{id}", "item.html", s.loadItem)
	for _, action := range []dlq.Action{dlq.Replay, dlq.Authorize, dlq.Withdraw, dlq.Discard, dlq.Note} {
		s.action("/dlq/{id}/"+decisionPaths[action], on, func(ctx context.Context, v *visit) (string, error) {
			return s.decide(ctx, v, action)
		})
	}
	s.uncovers(on)
}

// itemPage is what the screen of one dead letter shows.
type itemPage struct {
	*detail
	Path      string
	Story     []piece
	Automatic int // replays that its schedule makes at most; 0: it has none
	Acts      []act
	First     []admin.Before // dead letters that come before its replay
	Freeze    *admin.Freeze  // of its aggregate; nil: it is not frozen
	TwoPerson bool
	Record    recordView
	Timeline  timelineView
}

// loadItem loads the screen of one dead letter.
func (s *server) loadItem(ctx context.Context, v *visit) (*page, error) {
	d, err := get[detail](ctx, v.ask, letterPath(v), nil)
	if err != nil {
		return nil, err
	}
	traced, whyNot, err := s.traceOf(ctx, v, d.TraceID)
	if err != nil {
		return nil, err
	}
	freeze, err := freezeOf(ctx, v, traced, d.AggregateID)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	p := &itemPage{
		detail: d, Path: pathTo("dlq", dlq.LetterName(d.ID)), Story: story(&d.DeadLetter, now), Timeline: timelineOf(traced, whyNot, now, maxItemEvents),
		TwoPerson: s.twoPersons(d), Freeze: freeze, Record: recordOf(d),
	}
	if d.Tier == contracts.SafeAuto {
		p.Automatic = len(s.config.Catalog.Replay.Delays)
	}
	p.acts(v)
	if p.Record.Covered != "" {
		p.Record.Uncover = p.coveredAct(v)
	}
	return &page{
		Title: brief(d.EventType+" of "+d.AggregateID, maxName), Section: "dlq", Follows: p.topics(),
		Notice: doneNotice(v, doneTexts), Content: p,
	}, nil
}

// letterPath is where the API has the dead letter that the page's address names, also in
// one that was typed with its ID.
func letterPath(v *visit, more ...string) string {
	name := dlq.LetterName(dlq.NamedLetter(v.PathValue("id")))
	return apiPath(append([]string{"dlq", name}, more...)...)
}

// doneTexts tell of a decision that was taken. How it goes on is on the page.
var doneTexts = map[string]string{
	"replay":    "Asked for. This page tells how the replay ends, without a reload.",
	"authorize": "Its replay is allowed now. It is asked for apart.",
	"withdraw":  "Its replay is withdrawn.",
	"discard":   "It is given up.",
	"note":      "Your note stands in its history and in the audit.",
}

// topics are what the page follows: the dead letter, those that come before it,
// and the freeze of its aggregate.
func (p *itemPage) topics() []string {
	out := []string{topicDLQ + ":" + p.ID}
	if p.Tier == contracts.SecurityBlock {
		out = append(out, topicFreezes+":"+p.AggregateID)
	}
	size := 0
	for _, first := range p.First {
		if size += len(first.ID); size > maxFollowed {
			return append(out, topicDLQ)
		}
		out = append(out, topicDLQ+":"+first.ID)
	}
	return out
}

// maxFollowed bounds the IDs in the address of a page's stream, in bytes.
const maxFollowed = 2000

// twoPersons reports whether its replay needs another person than its
// authorization. Where the catalog does not know the event any more, it is taken
// to.
func (s *server) twoPersons(d *detail) bool {
	if d.Tier != contracts.SecurityBlock {
		return false
	}
	outbox := s.config.Catalog.Outbox(d.Outbox)
	if outbox == nil {
		return true
	}
	route := outbox.Route(d.EventType)
	return route == nil || route.TwoPersonRule
}

// traceOf reads the timeline of a trace; nil, and why, where there is none, or where it
// cannot be read: the dead letter is there all the same, to be decided about.
func (s *server) traceOf(ctx context.Context, v *visit, traceID string) (*admin.Timeline, string, error) {
	if traceID == "" {
		return nil, "its record names no trace", nil
	}
	t, err := get[admin.Timeline](ctx, v.ask, apiPath("trace", dlq.TraceName(traceID)), nil)
	if p, ok := errors.AsType[*admin.Problem](err); ok && ctx.Err() == nil {
		return nil, p.Detail, nil
	}
	return t, "", err
}

// freezeOf finds the freeze of an aggregate, in the timeline if there is one; nil: it is
// not frozen, or its ID is too long to be asked for.
func freezeOf(ctx context.Context, v *visit, t *admin.Timeline, aggregateID string) (*admin.Freeze, error) {
	if t != nil {
		for n := range t.Freezes {
			if t.Freezes[n].AggregateID == aggregateID {
				return &t.Freezes[n], nil
			}
		}
		return nil, nil
	}
	if aggregateID == "" {
		return nil, nil
	}
	f, err := get[admin.FreezeDetail](ctx, v.ask, apiPath("freezes", dlq.FreezeName(aggregateID)), nil)
	if p, ok := errors.AsType[*admin.Problem](err); ok {
		switch p.Status {
		case http.StatusNotFound, http.StatusRequestURITooLong, http.StatusUnprocessableEntity:
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &f.Freeze, nil
}
