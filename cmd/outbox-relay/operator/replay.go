package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

type replayCmd struct {
	ID   string `arg:"" help:"ID of the dead letter."`
	Wait bool   `help:"Wait until the replay has ended; exit code 8 if it failed."`
	reasonFlag
	apiFlags
}

// Run asks for a replay, and waits for its end if that is wanted.
func (c *replayCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		answer, decided, err := d.decide(ctx, c.ID, "replay", c.reasonFlag)
		if err != nil {
			return err
		}
		if d.json && !c.Wait {
			return shell.PrintJSON(d.Stdout, answer)
		}
		if !d.json {
			fmt.Fprintf(d.Stdout, "replay of %s asked for", terminal.Line(c.ID))
			if len(decided.Item.PendingTargets) > 0 {
				fmt.Fprintf(d.Stdout, ": it goes to %s", terminal.Line(strings.Join(decided.Item.PendingTargets, ", ")))
			}
			fmt.Fprintln(d.Stdout)
			if decided.Order != nil && decided.Order.Message != "" {
				fmt.Fprintln(d.Stdout, terminal.Line(decided.Order.Message))
			}
		}
		if !c.Wait {
			return nil
		}
		return d.await(ctx, c.ID, decided.Item.Replays)
	})
}

// await waits until no replay of the item is under way, and tells how the last
// one ended. waited is how many had ended when it was asked for.
func (d *desk) await(ctx context.Context, id string, waited int) error {
	for still := d.still(); ; {
		var i adminapi.Item
		answer, err := d.look(ctx, adminapi.LetterPath(id), &i, d.outage)
		if ctx.Err() != nil {
			return d.unwaited(id, "interrupted")
		}
		if lost, ok := errors.AsType[*lostSight](err); ok {
			return d.unwaited(id, "the service does not answer: "+terminal.Line(lost.Error()))
		}
		if err != nil {
			return err
		}
		if i.Replaying != nil {
			waited = i.Replays
			still.look(ctx, "", func() { d.tellWait(ctx, waitsFor{i.Lane, i.Outbox, i.PendingTargets, i.Replaying.Waits}) })
			if !shell.Pause(ctx, d.again) {
				return d.unwaited(id, "interrupted")
			}
			continue
		}
		if d.json {
			if err := shell.PrintJSON(d.Stdout, answer); err != nil {
				return err
			}
		}
		if i.State != contracts.DeadReplayed {
			return shell.Exit(shell.ExitNotAll, undelivered(i, i.Replays == waited))
		}
		if !d.json {
			fmt.Fprintln(d.Stdout, "delivered")
			d.tellFrozen(ctx, i)
		}
		return nil
	}
}

// unwaited ends the waiting alone.
func (d *desk) unwaited(id, why string) error {
	return goesOn("%s, which does not take the replay back%s", why, d.command("\nlook at it:  ", "show", id, ""))
}

// undelivered is why an item whose replay was waited for is not delivered.
// takenBack: no replay of it has ended meanwhile.
func undelivered(i adminapi.Item, takenBack bool) error {
	switch {
	case i.State == contracts.DeadDiscarded:
		return errors.New("it was given up while its replay was waited for")
	case takenBack:
		return fmt.Errorf("the replay ended without a delivery or a failure: it is %s now", terminal.Line(string(i.State)))
	}
	return fmt.Errorf("the replay failed: %s", terminal.Line(lastError(i)))
}

// tellFrozen tells how to release the aggregate of a dead letter that was
// delivered, where it is frozen still.
func (d *desk) tellFrozen(ctx context.Context, i adminapi.Item) {
	if i.Tier != contracts.SecurityBlock {
		return
	}
	var known adminapi.Timeline
	if _, err := d.Get(ctx, adminapi.Path("trace", dlq.TraceName(i.TraceID)), nil, &known); err != nil {
		fmt.Fprintf(d.Stderr, "it is not known whether %s is still frozen: %s\n", terminal.Line(i.AggregateID), terminal.Lines(err.Error()))
		return
	}
	for _, f := range known.Freezes {
		if f.AggregateID == i.AggregateID && f.State == dlq.Frozen {
			fmt.Fprintf(d.Stdout, "%s is still frozen, and its later records are held%s\n",
				terminal.Line(i.AggregateID), d.command("; to release it:\n", "release", i.AggregateID, because))
		}
	}
}
