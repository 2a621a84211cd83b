package operator

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
)

// Queue groups what can be done about work queues over the admin API.
type Queue struct {
	List    queueListCmd    `cmd:"" help:"List the work queues, or the documents of one, newest first."`
	Show    queueShowCmd    `cmd:"" help:"Show one document: what happened, and whether it may be tried again."`
	Requeue queueRequeueCmd `cmd:"" help:"Have a document that failed tried again, with all its attempts, at once."`
}

// queueExits is told by every help of a queue command.
const queueExits = `

Exit codes: 0 done; 1 failed, as when the service cannot be reached; 2 flags or values are wrong; 5 refused: it is not in that state, or somebody was faster; 6 not found; 7 not allowed: no valid token, or not the role.`

type queueListCmd struct {
	Queue  queue `arg:"" optional:"" help:"jobs or notifications; without it all queues are counted."`
	Status word  `placeholder:"STATUS" help:"Those with this status, such as failed; also one that the queue does not know."`
	Tenant word  `placeholder:"TENANT" help:"Those of this tenant: of jobs an organization (by field orgId), of notifications clientId/condominiumId."`
	pageFlags
	apiFlags
}

// Help is the long text of queue list --help.
func (c *queueListCmd) Help() string {
	return "Asks the admin API of a running service. Other are documents of a status that the queue does not know, which --status lists by that word, or of none, which no filter finds: nobody acts on them. " +
		"docs/QUEUES.md says what to do." + queueExits
}

// Validate is called by kong.
func (c *queueListCmd) Validate() error {
	if c.Queue == "" && (c.Status != "" || c.Tenant != "" || c.Limit != 0 || c.PageToken != "") {
		return fmt.Errorf("--status, --tenant, --limit and --page-token need a queue")
	}
	return nil
}

// Run prints the queues, or one page of a queue's documents.
func (c *queueListCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		if c.Queue == "" {
			return show(ctx, d, "/queues", nil, d.queues)
		}
		query := url.Values{}
		for name, value := range map[string]word{"status": c.Status, "tenant": c.Tenant} {
			if value != "" {
				query.Set(name, string(value))
			}
		}
		c.add(query)
		return show(ctx, d, adminapi.Path("queues", string(c.Queue), "items"), query, func(page adminapi.List[adminapi.QueueItem]) error {
			t := shell.NewTable(d.Stdout, "CREATED", "TENANT", "STATUS", "ATTEMPTS", "ABOUT", "LAST ERROR", "ID")
			for _, i := range page.Items {
				t.Row(moment(i.CreatedAt), i.Tenant, i.Status, fmt.Sprintf("%d of %d", i.Attempts, i.MaxAttempts), brief(subject(i), 50), orDash(brief(failure(i), 50)), i.ID)
			}
			return d.endPage(t, len(page.Items), "documents", page.NextPageToken)
		})
	})
}

// queues prints a line for each status of each queue.
func (d *desk) queues(all adminapi.WorkQueues) error {
	if all.Warning != "" {
		fmt.Fprintln(d.Stderr, terminal.Line(all.Warning))
	}
	if len(all.Items) == 0 {
		_, err := fmt.Fprintln(d.Stdout, "no work queues")
		return err
	}
	t := shell.NewTable(d.Stdout, "QUEUE", "DOCUMENTS", "OLDEST PENDING", "HERE")
	for _, q := range all.Items {
		t.Row(q.Queue, counts(q), oldest(q), here(q))
	}
	return t.Flush()
}

func counts(q adminapi.WorkQueue) string {
	var parts []string
	add := func(count int64, atLeast bool, status string) {
		more := ""
		if atLeast {
			more = "+"
		}
		parts = append(parts, fmt.Sprintf("%d%s %s", count, more, status))
	}
	for _, s := range q.Statuses {
		add(s.Count, s.AtLeast, s.Status)
	}
	if q.Other > 0 {
		add(q.Other, q.OtherAtLeast, "other")
	}
	return strings.Join(parts, ", ")
}

func oldest(q adminapi.WorkQueue) string {
	if q.OldestPending.IsZero() {
		return "-"
	}
	return (time.Duration(q.OldestAgeMillis) * time.Millisecond).Truncate(100 * time.Millisecond).String()
}

func here(q adminapi.WorkQueue) string {
	switch {
	case q.Here == nil:
		return "does not run"
	case !q.Here.Ready:
		return "is not ready: its listener is " + q.Here.Listener
	}
	return fmt.Sprintf("runs, %d waiting, %d busy", q.Here.Waiting, q.Here.Busy)
}

// subject is what a document is about, in a few words.
func subject(i adminapi.QueueItem) string {
	var words []string
	for _, name := range []string{"eventType", "entityId", "channel", "recipientId"} {
		if word := i.About[name]; word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

func failure(i adminapi.QueueItem) string {
	if i.LastErrorCode == "" || i.LastError == "" {
		return i.LastErrorCode + i.LastError
	}
	return i.LastErrorCode + ": " + i.LastError
}

// queueItemArgs name a document.
type queueItemArgs struct {
	Queue queue  `arg:"" help:"jobs or notifications."`
	ID    string `arg:"" help:"Path of the document, as queue list shows it."`
}

func (a queueItemArgs) path(more ...string) string {
	return adminapi.Path(append([]string{"queues", string(a.Queue), "items", a.ID}, more...)...)
}

type queueShowCmd struct {
	queueItemArgs
	Document bool `help:"Print the whole document too, payload included."`
	apiFlags
}

// Help is the long text of queue show --help.
func (c *queueShowCmd) Help() string { return "Asks the admin API of a running service." + queueExits }

// Run prints one document.
func (c *queueShowCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		return show(ctx, d, c.path(), nil, func(i adminapi.QueueItem) error {
			if err := d.queueItem(string(c.Queue), i); err != nil || !c.Document {
				return err
			}
			fmt.Fprintln(d.Stdout)
			return shell.PrintJSON(d.Stdout, i.Document)
		})
	})
}

func (d *desk) queueItem(queue string, i adminapi.QueueItem) error {
	facts := shell.NewTable(d.Stdout)
	for _, fact := range [][2]string{
		{"ID", i.ID},
		{"tenant", i.Tenant},
		{"status", i.Status},
		{"attempts", fmt.Sprintf("%d of %d", i.Attempts, i.MaxAttempts)},
		{"created", moment(i.CreatedAt)},
		{"due", moment(i.DueAt)},
		{"lease ends", moment(i.LeaseEnds)},
		{"last owner", orDash(i.Owner)},
		{"last error", orDash(brief(failure(i), 200))},
	} {
		facts.Row(fact[0], fact[1])
	}
	for _, name := range slices.Sorted(maps.Keys(i.About)) {
		facts.Row(name, i.About[name])
	}
	if err := facts.Flush(); err != nil {
		return err
	}
	if len(i.History) > 0 {
		fmt.Fprintln(d.Stdout)
		t := shell.NewTable(d.Stdout, "AT", "WHAT HAPPENED")
		for _, e := range i.History {
			t.Row(moment(e.At), e.Text)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(i.Decisions) > 0 {
		fmt.Fprintln(d.Stdout)
		t := shell.NewTable(d.Stdout, "DECIDED AT", "BY", "ACTION", "FROM", "REASON")
		for _, e := range i.Decisions {
			t.Row(moment(e.At), e.Actor, e.Action, e.From, e.Reason)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	d.mayRequeue(queue, i)
	return nil
}

// mayRequeue tells what may be done now.
func (d *desk) mayRequeue(queue string, i adminapi.QueueItem) {
	r := i.Requeue
	if !r.Allowed {
		fmt.Fprintf(d.Stdout, "\nIt cannot be requeued: %s (%s)\n", terminal.Line(r.Why), terminal.Line(r.Hint))
		return
	}
	if pastable(i.ID) {
		_, at, _ := strings.Cut(d.self, " dlq")
		fmt.Fprintf(d.Stdout, "\nTo have it tried again: outbox-relay queue requeue%s %s %s%s\n", at, shell.Quote(queue), shell.Quote(i.ID), because)
	} else {
		fmt.Fprintln(d.Stdout, "\nIt can be tried again, but "+noCommand)
	}
	if r.Warning != "" {
		fmt.Fprintf(d.Stdout, "Mind: %s\n", terminal.Line(r.Warning))
	}
}

type queueRequeueCmd struct {
	queueItemArgs
	reasonFlag
	apiFlags
}

// Help is the long text of queue requeue --help.
func (c *queueRequeueCmd) Help() string {
	return `Jobs that are failed or dead, and notifications that are failed, become pending again. Of a failed job nobody knows whether it was sent: its recipient may have it twice then, which queue show says, too.` + queueExits
}

// Run requeues.
func (c *queueRequeueCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		var done adminapi.Requeued
		answer, err := d.Post(ctx, c.path("requeue"), c.body(), &done)
		if err != nil {
			return err
		}
		if d.json {
			return shell.PrintJSON(d.Stdout, answer)
		}
		fmt.Fprintf(d.Stdout, "%s is %s again\n", terminal.Line(done.Item.ID), terminal.Line(done.Item.Status))
		if done.Warning != "" {
			fmt.Fprintf(d.Stderr, "mind: %s\n", terminal.Line(done.Warning))
		}
		return nil
	})
}
