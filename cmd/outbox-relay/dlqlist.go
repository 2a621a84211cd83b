package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
)

type dlqListCmd struct {
	Any bool `help:"Closed ones too: replayed and discarded."`
	filterFlags
	pageFlags
	apiFlags
}

// Run prints one page of dead letters.
func (c *dlqListCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		filter := c.filter()
		if !c.Any && c.State == "" {
			open := true
			filter.Open = &open
		}
		query, err := filterQuery(filter)
		if err != nil {
			return err
		}
		c.add(query)
		return show(ctx, d, "/dlq", query, func(page adminapi.List[adminapi.Item]) error {
			t := shell.NewTable(d.Stdout, "DEAD SINCE", "TIER", "STATE", "EVENT", "AGGREGATE", "LAST ERROR", "ID")
			for _, i := range page.Items {
				t.Row(moment(i.DeadAt), string(i.Tier), standing(i), i.Outbox+"/"+i.EventType,
					i.AggregateID+" v"+strconv.FormatInt(i.AggregateVersion, 10), brief(lastError(i), 60), i.ID)
			}
			return d.endPage(t, len(page.Items), "dead letters", page.NextPageToken)
		})
	})
}

// standing is an item's state, and what is under way.
func standing(i adminapi.Item) string {
	switch {
	case i.Replaying != nil:
		return string(i.State) + ", replaying"
	case i.Open && i.Replays > 0:
		return fmt.Sprintf("%s, %d replayed in vain", i.State, i.Replays)
	}
	return string(i.State)
}

// lastError is the last failed attempt's, or the reason where there was none.
func lastError(i adminapi.Item) string {
	if len(i.Errors) == 0 {
		return string(i.Reason)
	}
	return told(i.Errors[len(i.Errors)-1])
}

// told is a failed attempt's code and message. Some messages begin with the code.
func told(e adminapi.Attempt) string {
	return e.Code + ": " + strings.TrimPrefix(e.Message, e.Code+": ")
}

// endPage prints a table, or that it is empty, and how to go on. A page may be
// empty though later ones are not.
func (d *desk) endPage(t *shell.Table, n int, what, next string) error {
	if n == 0 && next == "" {
		_, err := fmt.Fprintln(d.Stdout, "no "+what)
		return err
	}
	if n == 0 {
		fmt.Fprintf(d.Stdout, "no %s on this page\n", what)
	} else if err := t.Flush(); err != nil {
		return err
	}
	if next != "" {
		fmt.Fprintf(d.Stderr, "there are more: the same with --page-token %s\n", shell.Quote(terminal.Line(next)))
	}
	return nil
}

type dlqGroupsCmd struct {
	Any bool `help:"Count closed ones too."`
	filterFlags
	pageFlags
	apiFlags
}

// Run prints one page of groups.
func (c *dlqGroupsCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		filter := c.filter()
		if !c.Any && c.State == "" {
			open := true
			filter.Open = &open
		}
		query, err := filterQuery(filter)
		if err != nil {
			return err
		}
		c.add(query)
		return show(ctx, d, "/dlq/groups", query, func(page adminapi.List[adminapi.Group]) error {
			t := shell.NewTable(d.Stdout, "COUNT", "EVENT", "ERROR", "FIRST", "LAST", "GROUP")
			for _, g := range page.Items {
				t.Row(strconv.FormatInt(g.Count, 10), g.EventType, brief(g.Code+": "+g.Error, 80), moment(g.FirstSeen), moment(g.LastSeen), g.ID)
			}
			return d.endPage(t, len(page.Items), "dead letters", page.NextPageToken)
		})
	})
}

type dlqFreezesCmd struct {
	pageFlags
	apiFlags
}

// Run prints one page of freezes.
func (c *dlqFreezesCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		query := url.Values{}
		c.add(query)
		return show(ctx, d, "/freezes", query, func(page adminapi.List[adminapi.Freeze]) error {
			t := shell.NewTable(d.Stdout, "FROZEN SINCE", "AGGREGATE", "STATE", "BY", "RELEASED BY", "DEAD LETTERS")
			for _, f := range page.Items {
				t.Row(moment(f.FrozenAt), f.AggregateID, string(f.State), f.Outbox+"/"+f.EventType, orDash(f.ReleasedBy), strconv.Itoa(len(f.DeadLetters)))
			}
			return d.endPage(t, len(page.Items), "frozen aggregates", page.NextPageToken)
		})
	})
}

type dlqAuditCmd struct {
	Actor   string `placeholder:"IDENTITY" help:"By this identity; relay is the service itself."`
	Action  string `placeholder:"ACTION" help:"replay, discard, authorize, release, ..."`
	On      string `placeholder:"ID" help:"About this dead letter, aggregate, lane or bulk replay."`
	Subject string `placeholder:"KIND" help:"dead_letter, freeze, lane, bulk_replay or access."`
	TraceID string `name:"trace-id" placeholder:"ID" help:"Of this trace."`
	From    when   `placeholder:"TIME" help:"Since: a time in RFC 3339, or a duration back from now such as 2h."`
	To      when   `placeholder:"TIME" help:"Before, likewise."`
	pageFlags
	apiFlags
}

// Run prints one page of the audit.
func (c *dlqAuditCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		query := url.Values{}
		for name, value := range map[string]string{
			"actor": c.Actor, "action": c.Action, "on": c.On, "subject": c.Subject, "traceId": c.TraceID,
			"from": c.From.query(), "to": c.To.query(),
		} {
			if value != "" {
				query.Set(name, value)
			}
		}
		c.add(query)
		return show(ctx, d, "/audit", query, func(page adminapi.List[adminapi.Entry]) error {
			t := shell.NewTable(d.Stdout, "AT", "WHO", "ROLE", "DID", "TO", "FROM STATE", "TO STATE", "REASON")
			for _, e := range page.Items {
				t.Row(moment(e.At), e.Actor, e.Role, e.Action, e.Subject+" "+e.On, orDash(e.From), orDash(e.To), orDash(brief(e.Reason, 60)))
			}
			return d.endPage(t, len(page.Items), "entries", page.NextPageToken)
		})
	})
}
