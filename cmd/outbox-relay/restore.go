package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"outboxrelay/cmd/outbox-relay/restore"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
	relayfirestore "outboxrelay/relay/firestore"
)

// exportTime is the time of an export on the command line.
type exportTime struct{ time.Time }

// UnmarshalText reads it. What is back from now, as dlq takes it, would move with each run.
func (e *exportTime) UnmarshalText(text []byte) (err error) {
	if e.Time, err = time.Parse(time.RFC3339, string(text)); err != nil {
		return fmt.Errorf("%q is no time in RFC 3339, such as 2026-03-01T11:00:00Z", text)
	}
	if e.Before(time.Unix(0, 0)) { // the zero time would count as not given
		return fmt.Errorf("%q is a time before 1970", text)
	}
	return nil
}

// restoreCmd settles what came back with an export.
type restoreCmd struct {
	Before exportTime `required:"" placeholder:"TIME" help:"Time of the export, RFC 3339: records that were appended before it are settled, later ones are left to the relay."`
	As     string     `required:"" enum:"delivered,review" placeholder:"HOW" help:"delivered: nothing of them is sent. review: each becomes a dead letter, which a person replays or discards."`
	Outbox []string   `placeholder:"NAME" help:"Settle this outbox alone; several with commas. Without it, all of the catalog."`
	By     string     `placeholder:"EMAIL" help:"Who does it, for the audit; required unless --dry-run."`
	Reason string     `short:"r" placeholder:"TEXT" help:"Why; it is recorded. Required unless --dry-run."`
	DryRun bool       `help:"Tell what would be settled, and change nothing."`
	Yes    bool       `short:"y" help:"Do not ask."`
	JSON   bool       `name:"json" help:"Print the report as JSON."`

	projectFlags
	catalogFlags
	standInFlags
}

// Help is the long text of restore --help.
func (c *restoreCmd) Help() string {
	return `An export holds records as they stood when it was made. Those that were waiting then have mostly been delivered since, and a relay that finds them waiting delivers them again. Run this after an import and before the first relay starts.

It also takes dead letters off their automatic replays and ends bulk replays that were running, as these may have been carried out after the export. Jobs that wait to be sent by email or to Pub/Sub become failed, with the code RESTORED, as they may have been sent after it: a person requeues those that were not. What consumers had open in inbox-events is deleted, as it would hold back its aggregates. Both with --outbox, too. Frozen aggregates and paused lanes are told and left as they are.

It refuses to run beside a relay, and beside a consumer with its inbox in this Firestore that handles an event. What an import brought back of the instances that ran at the time of the export looks alive for one lease term.

Each commit is conditioned on what was read and carries its audit entry; run the same again after a failure. Of records that were appended after the export nothing is known any more.

Exit codes: 0 done; 1 failed, run the same again; 2 flags or catalog are wrong, or the catalog lacks an outbox that was relayed; 5 a relay or a consumer runs.`
}

// Validate names what is missing.
func (c *restoreCmd) Validate() error {
	if c.Before.IsZero() || c.As == "" {
		return nil // what is required is told as of every command
	}
	if !c.DryRun && (strings.TrimSpace(c.By) == "" || strings.TrimSpace(c.Reason) == "") {
		return errors.New("--by and --reason are required, as the audit names them (or --dry-run)")
	}
	if now := time.Now(); c.Before.After(now) {
		return fmt.Errorf("--before %s lies ahead of now, %s: it is the time of the export, and all that was appended since would be settled unsent",
			c.Before.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return c.standInFlags.Validate()
}

// Run settles, or tells what would be.
func (c *restoreCmd) Run(ctx context.Context, p shell.Process) error {
	catalog, err := c.load(p.Env)
	if err != nil {
		return err
	}
	if catalog, err = c.apply(catalog); err != nil {
		return err
	}
	for _, name := range c.Outbox {
		if catalog.Outbox(name) == nil {
			return shell.Usagef("--outbox: the catalog has no outbox %s", name)
		}
	}
	at, err := c.place(p.Env)
	if err != nil {
		return err
	}
	client, err := dialFirestore(ctx, at, p.Stderr)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // what it wrote stands
	store := dlqfirestore.New(client)
	queue, err := dlq.New(dlq.Config{Store: store, Catalog: catalog})
	if err != nil {
		return err
	}
	r, err := restore.New(restore.Config{
		Records: relayfirestore.New(client, client), Letters: store, Queue: queue, Catalog: catalog,
		As: restore.As(c.As), Before: c.Before.Time, Outboxes: c.Outbox, By: c.By, Reason: c.Reason,
	})
	if err != nil {
		return shell.Usagef("%w", err)
	}
	if err := c.knowsAll(ctx, queue, catalog); err != nil {
		return err
	}
	return c.carryOut(ctx, p, r)
}

// knowsAll refuses a catalog that lacks an outbox which some instance relayed: its records
// would wait unseen, and the relay deliver them again. Who names outboxes has thought of it.
func (c *restoreCmd) knowsAll(ctx context.Context, queue *dlq.Queue, catalog *contracts.Catalog) error {
	if len(c.Outbox) > 0 {
		return nil
	}
	names, err := queue.Outboxes(ctx)
	if err != nil {
		return err
	}
	lacking := slices.DeleteFunc(names, func(name string) bool {
		// What may be a shard is told by the outbox that it is of, which may have fewer of them now.
		return catalog.Outbox(name) != nil || len(contracts.OutboxesOf(name)) > 1
	})
	if len(lacking) > 0 {
		return shell.Usagef("the leases name outboxes that the catalog lacks: %s. Give --catalog as the relay has it, or name with --outbox those to settle where nobody relays these any more",
			terminal.Line(strings.Join(lacking, ", ")))
	}
	return nil
}

// carryOut looks first, so that whoever is asked knows what it is about.
func (c *restoreCmd) carryOut(ctx context.Context, p shell.Process, r *restore.Restore) error {
	report, err := r.Look(ctx)
	if err != nil {
		return err
	}
	if c.DryRun {
		return c.tell(p.Stdout, report)
	}
	if !c.Yes {
		if !p.CanAnswer() {
			return shell.Usagef("nobody can be asked: give --yes, or look with --dry-run first")
		}
		if err := c.tell(p.Stderr, report); err != nil {
			return err
		}
		agreed, err := p.Agrees(fmt.Sprintf("Settle %s as %s? [y/N] ", shell.Plural(found(report), "record"), c.As))
		if err != nil {
			return err
		}
		if !agreed {
			fmt.Fprintln(p.Stderr, "nothing was changed")
			return nil
		}
	}
	report, err = r.Run(ctx)
	if running, ok := errors.AsType[*restore.RunningError](err); ok {
		return shell.Exit(shell.ExitConflict, running)
	}
	if handling, ok := errors.AsType[*restore.HandlingError](err); ok {
		return shell.Exit(shell.ExitConflict, handling)
	}
	if report == nil {
		return err
	}
	return errors.Join(err, c.tell(p.Stdout, report))
}

func found(r *restore.Report) int {
	total := r.Total()
	return total.Found()
}

// tell prints a report.
func (c *restoreCmd) tell(w io.Writer, r *restore.Report) error {
	if c.JSON {
		return shell.WriteJSON(w, r)
	}
	t := shell.NewTable(w, "OUTBOX", "PENDING", "RETRYING", "HELD", "SETTLED", "NEWER", "FAULTY")
	for _, o := range append(r.Outboxes, r.Total()) {
		t.Row(o.Outbox, strconv.Itoa(o.Pending), strconv.Itoa(o.Retrying), strconv.Itoa(o.Held), strconv.Itoa(o.Settled), strconv.Itoa(o.Newer), strconv.Itoa(o.Faulty))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s waiting in the export; %s: %d\n", shell.Plural(found(r), "record"), c.verb("settled as "+c.As), c.settles(r))
	fmt.Fprintf(w, "dead letters %s: %d; bulk replays %s: %d\n", c.verb("taken off their replays"), r.Replays, c.verb("ended"), r.Bulks)
	fmt.Fprintf(w, "jobs that may have been sent since the export, %s: %d\n", c.verb("made failed"), c.cleared(r.Jobs))
	fmt.Fprintf(w, "events that consumers had open, %s from inbox-events: %d\n", c.verb("deleted"), c.cleared(r.Events))
	fmt.Fprintf(w, "left as in the export: frozen aggregates: %d; paused lanes: %s\n", r.Frozen, cmp.Or(terminal.Line(strings.Join(r.Paused, ", ")), "none"))
	return nil
}

// verb is what was done, or would be.
func (c *restoreCmd) verb(done string) string {
	if c.DryRun {
		return "to be " + done
	}
	return done
}

// cleared is how many of them were settled, or would be.
func (c *restoreCmd) cleared(l restore.Leftovers) int {
	if c.DryRun {
		return l.Found
	}
	return l.Settled
}

// settles is how many records were settled, or would be.
func (c *restoreCmd) settles(r *restore.Report) int {
	if c.DryRun {
		return found(r)
	}
	return r.Total().Settled
}
