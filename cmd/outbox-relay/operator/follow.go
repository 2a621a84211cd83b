package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/dlq"
)

type followCmd struct {
	ID string `arg:"" help:"ID of the bulk replay."`
	apiFlags
}

// Run follows a bulk replay to its end.
func (c *followCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error { return d.follow(ctx, c.ID, false) })
}

// follow shows how a bulk replay gets on until it ends, or stands in a state that this version does
// not know. The end of ctx ends the
// following alone. With --json the progress goes to stderr and the bulk replay
// as it ended to stdout. Where it is not known yet that there is such a bulk replay, a
// service that does not answer is told at once: its address may be wrong.
func (d *desk) follow(ctx context.Context, id string, known bool) error {
	out := d.Stdout
	if d.json {
		out = d.Stderr
	}
	progress := &progress{w: out, terminal: shell.IsTerminal(out)}
	for still := d.still(); ; {
		var bulk adminapi.Bulk
		outage := d.outage
		if !known {
			outage = 0
		}
		answer, err := d.look(ctx, adminapi.Path("replays", id), &bulk, outage)
		if ctx.Err() != nil && !known {
			return fmt.Errorf("interrupted before the service told of bulk replay %s", terminal.Line(id))
		}
		if ctx.Err() != nil {
			return d.unfollowed(progress, id, "")
		}
		if lost, ok := errors.AsType[*lostSight](err); ok && known {
			return d.unfollowed(progress, id, "the service does not answer: "+terminal.Line(lost.Error())+"\n")
		}
		if err != nil {
			progress.end()
			return err
		}
		known = true
		progress.show(bulk)
		if bulk.State.Known() && !bulk.Ended() {
			if bulk.Replaying > 0 { // else it waits for its rate
				still.look(ctx, progress.last, func() {
					progress.end()
					d.tellWait(ctx, waitsFor{})
				})
			}
			if !shell.Pause(ctx, d.again) {
				return d.unfollowed(progress, id, "")
			}
			continue
		}
		progress.end()
		if d.json {
			if err := shell.PrintJSON(d.Stdout, answer); err != nil {
				return err
			}
		}
		if !bulk.State.Known() {
			return goesOn("not followed any more: the bulk replay is %q, a state of another version of the service; follow it by that version's command", terminal.Line(string(bulk.State)))
		}
		return endOf(bulk)
	}
}

// unfollowed ends the following alone; why is a line that comes before.
func (d *desk) unfollowed(p *progress, id, why string) error {
	p.end()
	return goesOn("%snot followed any more; the bulk replay goes on%s%s",
		why, d.command("\nfollow it:  ", "follow", id, ""), d.command("\ncancel it:  ", "cancel", id, because))
}

// endOf is the error of a bulk replay that did not deliver all of its dead
// letters.
func endOf(b adminapi.Bulk) error {
	left := fmt.Sprintf("%d of %d were delivered, %d failed, %d were passed over", b.Delivered, b.Total, b.Failed, b.Skipped)
	if why := dlq.ReasonsInWords(b.SkippedFor); why != "" && (b.State != dlq.BulkStopped || !strings.Contains(b.EndReason, why)) {
		left += " (" + terminal.Line(why) + ")"
	}
	switch {
	case b.State == dlq.BulkStopped:
		return shell.Exit(shell.ExitNotAll, fmt.Errorf("the bulk replay was stopped: %s; %s", terminal.Line(b.EndReason), left))
	case b.State == dlq.BulkCancelled:
		return shell.Exit(shell.ExitNotAll, fmt.Errorf("the bulk replay was cancelled by %s; %s", terminal.Line(b.CancelledBy), left))
	case b.Delivered < b.Total:
		return shell.Exit(shell.ExitNotAll, fmt.Errorf("not all is delivered: %s", left))
	}
	return nil
}

// progress draws how far a bulk replay is: a bar in place on a terminal, else a
// line whenever something has changed.
type progress struct {
	w        io.Writer
	terminal bool
	last     string
}

// barWidth is the length of the bar in characters.
const barWidth = 30

func (p *progress) show(b adminapi.Bulk) {
	line := fmt.Sprintf("%d of %d: %d delivered, %d failed, %d passed over, %d in delivery; %s",
		b.Delivered+b.Failed+b.Skipped, b.Total, b.Delivered, b.Failed, b.Skipped, b.Replaying, stage(b))
	if why := dlq.ReasonsInWords(b.HeldFor); why != "" && b.State == dlq.BulkRunning {
		line += "; cannot go on now: " + terminal.Line(why)
	}
	if line == p.last {
		return
	}
	p.last = line
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	done := barWidth
	if b.Total > 0 {
		done = min(barWidth, barWidth*(b.Delivered+b.Failed+b.Skipped)/b.Total)
	}
	fmt.Fprintf(p.w, "\r\x1b[K[%s%s] %s", strings.Repeat("#", done), strings.Repeat(".", barWidth-done), line)
}

// stage is where a bulk replay stands, in a word or two.
func stage(b adminapi.Bulk) string {
	if b.State == dlq.BulkRunning && b.Phase != "" {
		return terminal.Line(b.Phase)
	}
	return terminal.Line(string(b.State))
}

// end leaves the bar's line.
func (p *progress) end() {
	if p.terminal && p.last != "" {
		fmt.Fprintln(p.w)
	}
}
