package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
)

type showCmd struct {
	ID      string `arg:"" help:"ID of the dead letter."`
	Uncover bool   `help:"Show its whole record too, where a SECURITY_BLOCK payload is covered. Needs the role security and --reason, and is audited; with --json, the answer to that."`
	Reason  string `short:"r" placeholder:"TEXT" help:"Why --uncover; it is recorded with the look."`
	apiFlags
}

// Validate is called by kong.
func (c *showCmd) Validate() error {
	switch {
	case c.Uncover && strings.TrimSpace(c.Reason) == "":
		return errors.New("--uncover needs --reason")
	case !c.Uncover && c.Reason != "":
		return errors.New("--reason is for --uncover")
	}
	return nil
}

// Run prints one dead letter.
func (c *showCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		if c.Uncover && d.json {
			answer, err := d.Post(ctx, adminapi.LetterPath(c.ID, "uncover"), adminapi.Why{Reason: c.Reason}, nil)
			if err != nil {
				return err
			}
			return shell.PrintJSON(d.Stdout, answer)
		}
		return show(ctx, d, adminapi.LetterPath(c.ID), nil, func(i adminapi.Item) error {
			fmt.Fprintf(d.Stdout, "%s\n\n", terminal.Line(story(i)))
			facts := shell.NewTable(d.Stdout)
			for _, fact := range [][2]string{
				{"ID", i.ID},
				{"event", i.EventID + " " + i.EventType},
				{"trace", i.TraceID},
				{"record", i.RecordPath},
				{"aggregate", i.AggregateID + cmp.Or(versionIn(i, " version %d"), ", without a version")},
				{"tier", tierOf(i)},
				{"state", standing(i)},
				{"still to reach", orDash(strings.Join(i.PendingTargets, ", "))},
				{"consumer", orDash(i.Consumer)},
				{"next replay", moment(i.NextReplayAt)},
				{"group", orDash(i.Group)},
			} {
				facts.Row(fact[0], fact[1])
			}
			if err := facts.Flush(); err != nil {
				return err
			}
			if err := d.history(i); err != nil || !c.Uncover {
				return err
			}
			return d.uncover(ctx, c.ID, c.Reason)
		})
	})
}

// uncover prints the whole record of a dead letter whose payload is covered.
func (d *desk) uncover(ctx context.Context, id, reason string) error {
	var u adminapi.Uncovered
	if _, err := d.Post(ctx, adminapi.LetterPath(id, "uncover"), adminapi.Why{Reason: reason}, &u); err != nil {
		return err
	}
	fmt.Fprintln(d.Stdout)
	if err := shell.PrintJSON(d.Stdout, u.Record); err != nil {
		return err
	}
	if u.RecordTrimmed {
		fmt.Fprintln(d.Stderr, "the copy lacks the payload: it stands in the outbox document, and in envelope where the copy has that")
	}
	return nil
}

// history prints an item's attempts and decisions, and what may be done now.
func (d *desk) history(i adminapi.Item) error {
	if len(i.Errors) > 0 {
		fmt.Fprintln(d.Stdout)
		t := shell.NewTable(d.Stdout, "FAILED AT", "ATTEMPT", "TARGET", "CODE", "MESSAGE")
		for _, e := range i.Errors {
			t.Row(moment(e.Time), strconv.Itoa(e.Attempt), orDash(e.Target), e.Code, brief(e.Message, 120))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(i.Decisions) > 0 {
		fmt.Fprintln(d.Stdout)
		t := shell.NewTable(d.Stdout, "DECIDED AT", "BY", "ACTION", "REASON")
		for _, e := range i.Decisions {
			t.Row(moment(e.At), e.By, e.Action, e.Reason)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	d.possible(i)
	return nil
}

// possible prints what the caller may do now, as the commands that do it.
func (d *desk) possible(i adminapi.Item) {
	if len(i.Actions) == 0 {
		return
	}
	var not []string
	fmt.Fprintln(d.Stdout)
	if !pastable(i.ID) {
		fmt.Fprintln(d.Stdout, noCommand)
	}
	for _, a := range i.Actions {
		if !a.Allowed {
			line := "no " + a.Action + " now: " + a.Why
			if a.Hint != "" {
				line += " (" + a.Hint + ")"
			}
			not = append(not, line)
			continue
		}
		d.offer(fmt.Sprintf("to %-10s ", terminal.Line(a.Action)), terminal.Line(a.Action), i.ID, because)
	}
	for _, line := range not {
		fmt.Fprintln(d.Stdout, terminal.Line(line))
	}
	if i.PayloadWithheld != "" {
		d.offer("to see the covered payload, as security: ", "show", i.ID, " --uncover"+because)
	}
}
