package main

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
func (c *dlqShowCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		if c.Uncover && d.json {
			answer, err := d.Post(ctx, adminapi.Path("dlq", c.ID, "uncover"), adminapi.Why{Reason: c.Reason}, nil)
			if err != nil {
				return err
			}
			return printJSON(d.Stdout, answer)
		}
		return show(ctx, d, adminapi.Path("dlq", c.ID), nil, func(i adminapi.Item) error {
			fmt.Fprintf(d.Stdout, "%s\n\n", terminal.Line(story(i)))
			facts := shell.NewTable(d.Stdout)
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
	if _, err := d.Post(ctx, adminapi.Path("dlq", id, "uncover"), adminapi.Why{Reason: reason}, &u); err != nil {
		return err
	}
	fmt.Fprintln(d.Stdout)
	if err := printJSON(d.Stdout, u.Record); err != nil {
		return err
	}
	if u.RecordTrimmed {
		fmt.Fprintln(d.Stderr, "the copy lacks the payload, which stands in the outbox document alone")
	}
	return nil
}

// story tells in a few sentences what happened.
func story(i adminapi.Item) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s version %d of %s (%s, %s) %s", i.EventType, i.AggregateVersion, i.AggregateID, i.Outbox, i.Lane, cause(i))
	before, since := failures(i)
	if i.Reason != contracts.Restored { // its last error says just that
		b.WriteString(lastOf(before, ", last at "))
	}
	fmt.Fprintf(&b, ", and is a dead letter since %s. ", moment(i.DeadAt))
	if last := lastOf(since, ", and failed last at "); last != "" {
		verb := "have"
		if i.Replays == 1 {
			verb = "has"
		}
		fmt.Fprintf(&b, "%s %s ended since%s. ", shell.Plural(i.Replays, "replay"), verb, last)
	}
	b.WriteString(outcome(i))
	return b.String()
}

// cause is why it died.
func cause(i adminapi.Item) string {
	attempts := shell.Plural(i.Attempts, "attempt")
	switch i.Reason {
	case contracts.ContractViolation:
		if i.Attempts == 0 { // those that an outage ended are not counted
			return "was found to break its contract, with no attempt counted"
		}
		return "was found to break its contract, after " + attempts
	case contracts.PermanentFailure:
		return "met a failure that counts as permanent"
	case contracts.ClaimsRefreshFailed:
		return "could not refresh the claims in " + attempts
	case contracts.Restored:
		return "was waiting in an export of Firestore, so that nobody knows whether it was delivered"
	}
	return "failed " + attempts
}

// failures are those that it died of, and those of its replays.
func failures(i adminapi.Item) (before, since []adminapi.Attempt) {
	if i.Replays == 0 {
		return i.Errors, nil
	}
	for _, e := range i.Errors {
		if e.Time.After(i.DeadAt) {
			since = append(since, e)
		} else {
			before = append(before, e)
		}
	}
	return before, since
}

// lastOf tells the last of some failures after an introduction; "" where there is none.
func lastOf(all []adminapi.Attempt, introduction string) string {
	if len(all) == 0 {
		return ""
	}
	e := all[len(all)-1]
	return fmt.Sprintf("%s%s (%s)", introduction, cmp.Or(e.Target, "the check"), brief(told(e), 200))
}

// outcome tells how it stands.
func outcome(i adminapi.Item) string {
	switch {
	case i.State == contracts.DeadReplayed:
		return "It was replayed and reached every target."
	case i.State == contracts.DeadDiscarded:
		return "It was given up."
	case i.Replaying != nil:
		return i.Replaying.By + " asked for a replay, which has not ended."
	case i.State == contracts.DeadScheduled:
		return "Its next automatic replay is due at " + moment(i.NextReplayAt) + "."
	case i.State == contracts.DeadBlocked:
		return "Nobody has authorized its replay. Whether its aggregate is frozen, dlq freezes tells."
	case i.State == contracts.DeadAuthorized:
		return "Its replay was authorized by " + i.AuthorizedBy + "."
	case i.State == contracts.DeadAwaitingReview:
		return "It waits for an operator."
	}
	return "It is " + string(i.State) + "."
}

func tierOf(i adminapi.Item) string {
	if i.OriginalTier == "" || i.OriginalTier == i.Tier {
		return string(i.Tier)
	}
	return string(i.Tier) + ", first " + string(i.OriginalTier)
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
	for _, a := range i.Actions {
		if !a.Allowed {
			line := "no " + a.Action + " now: " + a.Why
			if a.Hint != "" {
				line += " (" + a.Hint + ")"
			}
			not = append(not, line)
			continue
		}
		fmt.Fprintf(d.Stdout, "to %-10s %s %s %s --reason '...'\n", terminal.Line(a.Action), d.self, terminal.Line(a.Action), shell.Quote(terminal.Line(i.ID)))
	}
	for _, line := range not {
		fmt.Fprintln(d.Stdout, terminal.Line(line))
	}
	if i.PayloadWithheld != "" {
		fmt.Fprintf(d.Stdout, "to see the covered payload, as security: %s show %s --uncover --reason '...'\n", d.self, shell.Quote(terminal.Line(i.ID)))
	}
}
