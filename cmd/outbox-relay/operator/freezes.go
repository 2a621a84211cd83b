package operator

import (
	"context"
	"net/url"
	"strconv"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
)

type freezesCmd struct {
	pageFlags
	apiFlags
}

// Run prints one page of freezes.
func (c *freezesCmd) Run(ctx context.Context, p shell.Process) error {
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
