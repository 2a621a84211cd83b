package operator

import (
	"context"
	"encoding/json"
	"fmt"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
)

// reasonFlag is why somebody decides. It stands in the audit.
type reasonFlag struct {
	Reason string `short:"r" required:"" placeholder:"TEXT" help:"Why; it is recorded with the decision."`
}

func (f reasonFlag) body() adminapi.Why { return adminapi.Why{Reason: f.Reason} }

// decide posts one decision about a dead letter.
func (d *desk) decide(ctx context.Context, id, action string, why reasonFlag) (json.RawMessage, adminapi.Decided, error) {
	var decided adminapi.Decided
	answer, err := d.Post(ctx, adminapi.LetterPath(id, action), why.body(), &decided)
	return answer, decided, err
}

// decideAndTell is decide for a command that has nothing more to do.
func (f *apiFlags) decideAndTell(ctx context.Context, p shell.Process, id, action string, why reasonFlag, told string) error {
	return f.ask(p, func(d *desk) error {
		var before adminapi.Item // its replay, if it has one, is gone from the answer
		if ends := action == "discard" || action == "withdraw"; ends && !d.json {
			if _, err := d.Get(ctx, adminapi.LetterPath(id), nil, &before); err != nil {
				return err
			}
		}
		answer, decided, err := d.decide(ctx, id, action, why)
		if err != nil {
			return err
		}
		if d.json {
			return shell.PrintJSON(d.Stdout, answer)
		}
		fmt.Fprintf(d.Stdout, "%s %s; it is %s now\n", terminal.Line(id), told, terminal.Line(string(decided.Item.State)))
		if before.Replaying != nil {
			fmt.Fprintln(d.Stdout, "its replay had not ended: a delivery that is under way comes to its end, and if it succeeds, it is replayed after all")
		}
		return nil
	})
}

type discardCmd struct {
	ID string `arg:"" help:"ID of the dead letter."`
	reasonFlag
	apiFlags
}

// Run discards.
func (c *discardCmd) Run(ctx context.Context, p shell.Process) error {
	return c.decideAndTell(ctx, p, c.ID, "discard", c.reasonFlag, "is given up")
}

type authorizeCmd struct {
	ID string `arg:"" help:"ID of the dead letter."`
	reasonFlag
	apiFlags
}

// Run authorizes.
func (c *authorizeCmd) Run(ctx context.Context, p shell.Process) error {
	return c.decideAndTell(ctx, p, c.ID, "authorize", c.reasonFlag, "may be replayed")
}

type withdrawCmd struct {
	ID string `arg:"" help:"ID of the dead letter."`
	reasonFlag
	apiFlags
}

// Run withdraws.
func (c *withdrawCmd) Run(ctx context.Context, p shell.Process) error {
	return c.decideAndTell(ctx, p, c.ID, "withdraw", c.reasonFlag, "is not to be replayed any more")
}

type noteCmd struct {
	ID string `arg:"" help:"ID of the dead letter."`
	reasonFlag
	apiFlags
}

// Run writes a note.
func (c *noteCmd) Run(ctx context.Context, p shell.Process) error {
	return c.decideAndTell(ctx, p, c.ID, "notes", c.reasonFlag, "has a note")
}
