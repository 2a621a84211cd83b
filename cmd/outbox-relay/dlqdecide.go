package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// reasonFlag is why somebody decides. It stands in the audit.
type reasonFlag struct {
	Reason string `short:"r" required:"" placeholder:"TEXT" help:"Why; it is recorded with the decision."`
}

func (f reasonFlag) body() adminapi.Why { return adminapi.Why{Reason: f.Reason} }

type dlqReplayCmd struct {
	ID   string `arg:"" help:"ID of the dead letter."`
	Wait bool   `help:"Wait until the replay has ended; exit code 8 if it failed."`
	reasonFlag
	apiFlags
}

// Run asks for a replay, and waits for its end if that is wanted.
func (c *dlqReplayCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		answer, decided, err := d.decide(ctx, c.ID, "replay", c.reasonFlag)
		if err != nil {
			return err
		}
		if d.json && !c.Wait {
			return printJSON(d.Stdout, answer)
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
		return d.await(ctx, c.ID)
	})
}

// lookAgain is the pace at which something that is under way is looked at.
const lookAgain = 500 * time.Millisecond

// await waits until no replay of the item is under way, and tells how the last
// one ended.
func (d *desk) await(ctx context.Context, id string) error {
	waited := -1 // how many replays had ended while ours had not; -1: that was never seen
	for still := d.still(); ; {
		var i adminapi.Item
		answer, err := d.Get(ctx, adminapi.Path("dlq", id), nil, &i)
		if err != nil {
			return err
		}
		if i.Replaying != nil {
			waited = i.Replays
			still.look(ctx, "", func() { d.tellWait(ctx, i.Lane, i.PendingTargets) })
			if !wait(ctx, lookAgain) {
				return errors.New("interrupted, which does not take the replay back")
			}
			continue
		}
		if d.json {
			if err := printJSON(d.Stdout, answer); err != nil {
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
	if _, err := d.Get(ctx, adminapi.Path("trace", i.TraceID), nil, &known); err != nil {
		fmt.Fprintf(d.Stderr, "it is not known whether %s is still frozen: %s\n", terminal.Line(i.AggregateID), terminal.Lines(err.Error()))
		return
	}
	for _, f := range known.Freezes {
		if f.AggregateID == i.AggregateID && f.State == dlq.Frozen {
			fmt.Fprintf(d.Stdout, "%s is still frozen, and its later records are held; to release it:\n%s release %s --reason '...'\n",
				terminal.Line(i.AggregateID), d.self, shell.Quote(terminal.Line(i.AggregateID)))
		}
	}
}

// decide posts one decision about a dead letter.
func (d *desk) decide(ctx context.Context, id, action string, why reasonFlag) (json.RawMessage, adminapi.Decided, error) {
	var decided adminapi.Decided
	answer, err := d.Post(ctx, adminapi.Path("dlq", id, action), why.body(), &decided)
	return answer, decided, err
}

// decideAndTell is decide for a command that has nothing more to do.
func (f *apiFlags) decideAndTell(ctx context.Context, p shell.Process, id, action string, why reasonFlag, told string) error {
	return f.ask(p, func(d *desk) error {
		answer, decided, err := d.decide(ctx, id, action, why)
		if err != nil {
			return err
		}
		if d.json {
			return printJSON(d.Stdout, answer)
		}
		fmt.Fprintf(d.Stdout, "%s %s; it is %s now\n", terminal.Line(id), told, terminal.Line(string(decided.Item.State)))
		return nil
	})
}

type dlqDiscardCmd struct {
	ID string `arg:"" help:"ID of the dead letter."`
	reasonFlag
	apiFlags
}

// Run discards.
func (c *dlqDiscardCmd) Run(ctx context.Context, p shell.Process) error {
	return c.decideAndTell(ctx, p, c.ID, "discard", c.reasonFlag, "is given up")
}

type dlqAuthorizeCmd struct {
	ID string `arg:"" help:"ID of the dead letter."`
	reasonFlag
	apiFlags
}

// Run authorizes.
func (c *dlqAuthorizeCmd) Run(ctx context.Context, p shell.Process) error {
	return c.decideAndTell(ctx, p, c.ID, "authorize", c.reasonFlag, "may be replayed")
}

type dlqWithdrawCmd struct {
	ID string `arg:"" help:"ID of the dead letter."`
	reasonFlag
	apiFlags
}

// Run withdraws.
func (c *dlqWithdrawCmd) Run(ctx context.Context, p shell.Process) error {
	return c.decideAndTell(ctx, p, c.ID, "withdraw", c.reasonFlag, "is not to be replayed any more")
}

type dlqNoteCmd struct {
	ID string `arg:"" help:"ID of the dead letter."`
	reasonFlag
	apiFlags
}

// Run writes a note.
func (c *dlqNoteCmd) Run(ctx context.Context, p shell.Process) error {
	return c.decideAndTell(ctx, p, c.ID, "notes", c.reasonFlag, "has a note")
}

type dlqReleaseCmd struct {
	Aggregate string `arg:"" help:"ID of the frozen aggregate."`
	reasonFlag
	apiFlags
}

// Run releases a frozen aggregate.
func (c *dlqReleaseCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		var released adminapi.Released
		answer, err := d.Post(ctx, adminapi.Path("freezes", c.Aggregate, "release"), c.body(), &released)
		if err != nil {
			return err
		}
		if d.json {
			return printJSON(d.Stdout, answer)
		}
		fmt.Fprintf(d.Stdout, "%s is being released: what was held goes on in order\n", terminal.Line(c.Aggregate))
		for _, i := range released.Open {
			fmt.Fprintf(d.Stdout, "it overtakes the dead letter %s, which is %s\n", terminal.Line(i.ID), terminal.Line(string(i.State)))
		}
		return nil
	})
}
