package operator

import (
	"context"
	"net/url"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
)

type auditCmd struct {
	Actor   word      `placeholder:"IDENTITY" help:"By this identity; relay is the service itself."`
	Action  word      `placeholder:"ACTION" help:"Those that did this, by the word in the column DID: replay, discard, authorize, release and others."`
	On      word      `placeholder:"ID" help:"About this dead letter, aggregate, lane, bulk replay or document of a work queue."`
	Subject aboutKind `placeholder:"KIND" help:"dead_letter, freeze, lane, bulk_replay, outbox, queue_item or access."`
	TraceID word      `name:"trace-id" placeholder:"ID" help:"Of this trace."`
	From    when      `placeholder:"TIME" help:"Since: a time in RFC 3339 or as it is printed here, or back from now, such as 2h or 3d."`
	To      when      `placeholder:"TIME" help:"Before, likewise."`
	pageFlags
	apiFlags
}

// Validate is called by kong.
func (c *auditCmd) Validate() error { return inOrder(c.From, c.To) }

// Run prints one page of the audit.
func (c *auditCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		query := url.Values{}
		for name, value := range map[string]word{
			"actor": c.Actor, "action": c.Action, "on": c.On, "subject": word(c.Subject), "traceId": c.TraceID,
			"from": word(c.From.query()), "to": word(c.To.query()),
		} {
			if value != "" {
				query.Set(name, string(value))
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
