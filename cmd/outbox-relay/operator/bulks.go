package operator

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
)

type bulksCmd struct {
	pageFlags
	apiFlags
}

// Run prints one page of bulk replays.
func (c *bulksCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		query := url.Values{}
		c.add(query)
		return show(ctx, d, "/replays", query, func(page adminapi.List[adminapi.Bulk]) error {
			t := shell.NewTable(d.Stdout, "BEGUN", "STATE", "BY", "TOTAL", "DELIVERED", "FAILED", "SKIPPED", "REASON", "ID")
			for _, b := range page.Items {
				t.Row(moment(b.CreatedAt), string(b.State), b.By, strconv.Itoa(b.Total), strconv.Itoa(b.Delivered),
					strconv.Itoa(b.Failed), strconv.Itoa(b.Skipped), brief(b.Reason, 60), b.ID)
			}
			return d.endPage(t, len(page.Items), "bulk replays", page.NextPageToken)
		})
	})
}

type cancelCmd struct {
	ID     string `arg:"" help:"ID of the bulk replay."`
	Reason string `short:"r" required:"" placeholder:"TEXT" help:"Why; it is recorded."`
	apiFlags
}

// Run cancels a bulk replay. What is in delivery ends by itself.
func (c *cancelCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		var bulk adminapi.Bulk
		answer, err := d.Post(ctx, adminapi.Path("replays", c.ID, "cancel"), adminapi.Why{Reason: c.Reason}, &bulk)
		if err != nil {
			return err
		}
		if d.json {
			return shell.PrintJSON(d.Stdout, answer)
		}
		fmt.Fprintf(d.Stdout, "bulk replay %s is cancelled: %d of %d were delivered, %d are in delivery\n", terminal.Line(bulk.ID), bulk.Delivered, bulk.Total, bulk.Replaying)
		return nil
	})
}
