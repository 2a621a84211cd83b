package operator

import (
	"context"
	"fmt"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/dlq"
)

type traceCmd struct {
	TraceID string `arg:"" help:"The trace."`
	apiFlags
}

// Run prints a trace's timeline.
func (c *traceCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		return show(ctx, d, adminapi.Path("trace", dlq.TraceName(c.TraceID)), nil, func(l adminapi.Timeline) error {
			t := shell.NewTable(d.Stdout, "AT", "WHAT", "EVENT", "TOLD")
			for _, e := range l.Events {
				t.Row(moment(e.At), e.Kind, orDash(e.EventType), brief(e.Summary, 160))
			}
			if err := d.endPage(t, len(l.Events), "events of this trace", ""); err != nil {
				return err
			}
			if l.Truncated {
				fmt.Fprintln(d.Stderr, "there is more of it than is shown")
			}
			return nil
		})
	})
}
