package operator

import (
	"context"
	"fmt"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/dlq"
)

type releaseCmd struct {
	Aggregate string `arg:"" help:"ID of the frozen aggregate."`
	reasonFlag
	apiFlags
}

// Run releases a frozen aggregate.
func (c *releaseCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		var released adminapi.Released
		answer, err := d.Post(ctx, adminapi.Path("freezes", dlq.FreezeName(c.Aggregate), "release"), c.body(), &released)
		if err != nil {
			return err
		}
		if d.json {
			return shell.PrintJSON(d.Stdout, answer)
		}
		fmt.Fprintf(d.Stdout, "%s is being released: what was held goes on in order\n", terminal.Line(c.Aggregate))
		for _, i := range released.Open {
			fmt.Fprintf(d.Stdout, "it overtakes the dead letter %s, which is %s\n", terminal.Line(i.ID), terminal.Line(string(i.State)))
		}
		return nil
	})
}
