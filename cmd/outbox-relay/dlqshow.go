package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/contracts"
)

type dlqShowCmd struct {
	ID      string `arg:"" help:"ID of the dead letter."`
	Uncover bool   `help:"Show its whole record too, where a SECURITY_BLOCK payload is covered. Needs the role security and --reason, and is audited; with --json, the answer to that."`
	Reason  string `short:"r" placeholder:"TEXT" help:"Why --uncover; it is recorded with the look."`
	apiFlags
}

// Validate is called by kong.
func (c *dlqShowCmd) Validate() error {
	switch {
	case c.Uncover && strings.TrimSpace(c.Reason) == "":
		return errors.New("--uncover needs --reason")
	case !c.Uncover && c.Reason != "":
		return errors.New("--reason is for --uncover")
	}
	return nil
}

// Run prints one dead letter.
func (c *dlqShowCmd) Run(ctx context.Context, p process) error {
	return c.ask(p, func(d *desk) error {
		if c.Uncover && d.json {
			answer, err := d.Post(ctx, adminapi.Path("dlq", c.ID, "uncover"), adminapi.Why{Reason: c.Reason}, nil)
			if err != nil {
				return err
			}
			return printJSON(d.stdout, answer)
		}
		return show(ctx, d, adminapi.Path("dlq", c.ID), nil, func(i adminapi.Item) error {
			fmt.Fprintf(d.stdout, "%s\n\n", terminal.Line(story(i)))
			facts := newTable(d.stdout)
			for _, fact := range [][2]string{
				{"ID", i.ID},
				{"event", i.EventID + " " + i.EventType},
				{"trace", i.TraceID},
				{"record", i.RecordPath},
				{"aggregate", i.AggregateID + " version " + strconv.FormatInt(i.AggregateVersion, 10)},
				{"tier", tierOf(i)},
				{"state", standing(i)},
				{"still to reach", orDash(strings.Join(i.PendingTargets, ", "))},
				{"next replay", moment(i.NextReplayAt)},
				{"group", orDash(i.Group)},
			} {
				facts.row(fact[0], fact[1])
			}
			if err := facts.flush(); err != nil {
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
	if _, err := d.Post(ctx, adminapi.Path("dlq", id, "uncover"), adminapi.Why{Reason: reason}, &u); err != nil {
		return err
	}
	fmt.Fprintln(d.stdout)
	if err := printJSON(d.stdout, u.Record); err != nil {
		return err
	}
	if u.RecordTrimmed {
		fmt.Fprintln(d.stderr, "the copy lacks the payload, which stands in the outbox document alone")
	}
	return nil
}

// story tells in a sentence or two what happened.
func story(i adminapi.Item) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s version %d of %s (%s, %s) ", i.EventType, i.AggregateVersion, i.AggregateID, i.Outbox, i.Lane)
	switch i.Reason {
	case contracts.ContractViolation:
		b.WriteString("breaks its contract and was never attempted")
	case contracts.PermanentFailure:
		b.WriteString("was refused for good")
	case contracts.ClaimsRefreshFailed:
		fmt.Fprintf(&b, "could not refresh the claims in %s", plural(i.Attempts, "attempt"))
	case contracts.Restored:
		b.WriteString("was waiting in an export of Firestore, so that nobody knows whether it was delivered")
	default:
		fmt.Fprintf(&b, "failed %s", plural(i.Attempts, "attempt"))
	}
	if n := len(i.Errors); n > 0 {
		e := i.Errors[n-1]
		fmt.Fprintf(&b, ", last at %s (%s)", orElse(e.Target, "the check"), brief(told(e), 200))
	}
	fmt.Fprintf(&b, ", and is a dead letter since %s. ", moment(i.DeadAt))
	b.WriteString(outcome(i))
	return b.String()
}

// outcome tells how it stands.
func outcome(i adminapi.Item) string {
	switch {
	case i.State == contracts.DeadReplayed:
		return "It was replayed and reached every target."
	case i.State == contracts.DeadDiscarded:
		return "It was given up."
	case i.Replaying != nil:
		return "It is being replayed for " + i.Replaying.By + "."
	case i.State == contracts.DeadScheduled:
		return "It will be replayed by itself at " + moment(i.NextReplayAt) + "."
	case i.State == contracts.DeadBlocked:
		return "Its account is frozen, and nobody has authorized its replay."
	case i.State == contracts.DeadAuthorized:
		return "Its replay was authorized by " + i.AuthorizedBy + "."
	}
	return "It waits for an operator."
}

func tierOf(i adminapi.Item) string {
	if i.OriginalTier == "" || i.OriginalTier == i.Tier {
		return string(i.Tier)
	}
	return string(i.Tier) + ", first " + string(i.OriginalTier)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// history prints an item's attempts and decisions, and what may be done now.
func (d *desk) history(i adminapi.Item) error {
	if len(i.Errors) > 0 {
		fmt.Fprintln(d.stdout)
		t := newTable(d.stdout, "FAILED AT", "ATTEMPT", "TARGET", "CODE", "MESSAGE")
		for _, e := range i.Errors {
			t.row(moment(e.Time), strconv.Itoa(e.Attempt), orDash(e.Target), e.Code, brief(e.Message, 120))
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	if len(i.Decisions) > 0 {
		fmt.Fprintln(d.stdout)
		t := newTable(d.stdout, "DECIDED AT", "BY", "ACTION", "REASON")
		for _, e := range i.Decisions {
			t.row(moment(e.At), e.By, e.Action, e.Reason)
		}
		if err := t.flush(); err != nil {
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
	fmt.Fprintln(d.stdout)
	for _, a := range i.Actions {
		if !a.Allowed {
			line := "no " + a.Action + " now: " + a.Why
			if a.Hint != "" {
				line += " (" + a.Hint + ")"
			}
			not = append(not, line)
			continue
		}
		fmt.Fprintf(d.stdout, "to %-10s %s %s %s --reason '...'\n", terminal.Line(a.Action), d.self, terminal.Line(a.Action), shellQuote(terminal.Line(i.ID)))
	}
	for _, line := range not {
		fmt.Fprintln(d.stdout, terminal.Line(line))
	}
	if i.PayloadWithheld != "" {
		fmt.Fprintf(d.stdout, "to see the covered payload, as security: %s show %s --uncover --reason '...'\n", d.self, shellQuote(terminal.Line(i.ID)))
	}
}
