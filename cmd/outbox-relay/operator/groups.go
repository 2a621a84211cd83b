package operator

import (
	"context"
	"strconv"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
)

type groupsCmd struct {
	Any bool `help:"Count closed ones too."`
	filterFlags
	pageFlags
	apiFlags
}

// Run prints one page of groups.
func (c *groupsCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		query, err := c.query(c.Any)
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
