package main

import (
	"context"
	"fmt"
	"strings"

	"outboxrelay/cmd/outbox-relay/adminapi"
)

type dlqTraceCmd struct {
	TraceID string `arg:"" help:"The trace."`
	apiFlags
}

// Run prints a trace's timeline.
func (c *dlqTraceCmd) Run(ctx context.Context, p process) error {
	return c.ask(p, func(d *desk) error {
		return show(ctx, d, adminapi.Path("trace", c.TraceID), nil, func(l adminapi.Timeline) error {
			t := newTable(d.stdout, "AT", "WHAT", "EVENT", "TOLD")
			for _, e := range l.Events {
				t.row(moment(e.At), e.Kind, orDash(e.EventType), brief(e.Summary, 160))
			}
			if err := d.endPage(t, len(l.Events), "events of this trace", ""); err != nil {
				return err
			}
			if l.Truncated {
				fmt.Fprintln(d.stderr, "there is more of it than is shown")
			}
			return nil
		})
	})
}

// joined is a list in words.
func joined(names []string) string { return strings.Join(names, ", ") }
