package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/dlq"
)

type bulkCmd struct {
	filterFlags
	ID       []string `name:"id" sep:"none" placeholder:"ID" help:"This dead letter, instead of those that a filter selects; may be given many times."`
	All      bool     `help:"Everything that is open, instead of a filter or --id."`
	Pin      word     `placeholder:"PIN" help:"Of a --dry-run --json, or of the console: begin only if the same would be replayed, as it was then."`
	Rate     *float64 `placeholder:"N" help:"Replays a second at most; the default is the catalog's. It begins with a few and a tenth of it."`
	Reason   string   `short:"r" placeholder:"TEXT" help:"Why; it is recorded with every replay. Required unless --dry-run."`
	DryRun   bool     `help:"Only tell what would be replayed."`
	Yes      bool     `short:"y" help:"Do not ask."`
	NoFollow bool     `help:"Do not wait for the end."`
	apiFlags
}

// Validate names flags that do not fit together.
func (c *bulkCmd) Validate() error {
	filtered := c.filter() != (dlq.Filter{})
	switch {
	case len(c.ID) > 0 && filtered:
		return errors.New("--id and a filter exclude each other")
	case c.All && (filtered || len(c.ID) > 0):
		return errors.New("--all excludes --id and a filter")
	case !c.All && !filtered && len(c.ID) == 0:
		return errors.New("nothing says what to replay: give a filter, --id, or --all for everything that is open")
	case c.Rate != nil && (math.IsNaN(*c.Rate) || *c.Rate <= 0 || *c.Rate > dlq.MaxBulkRate):
		return fmt.Errorf("--rate is %v, want more than 0 and at most %d", *c.Rate, dlq.MaxBulkRate)
	case !c.DryRun && strings.TrimSpace(c.Reason) == "":
		return errors.New("--reason is required, unless it is a --dry-run")
	}
	return inOrder(c.From, c.To)
}

// Help is the long text of dlq bulk --help.
func (c *bulkCmd) Help() string {
	return `It takes what a filter selects, what --id names, or with --all everything that is open. The selection is pinned when the bulk replay is made, of what was dead when the command looked, or before --to: what dies later is not part of it. With nothing to replay it says so and ends well. SECURITY_BLOCK dead letters are never taken. It begins with a canary of a few, goes on at a tenth of the rate and doubles it, and stops by itself when too many fail.

It tells what it would take and asks; what is replayed then is exactly that, or nothing. Without a terminal it needs --yes. Then it follows to the end. Ctrl-C ends the following alone: the bulk replay goes on, and dlq cancel stops it.` + dlqExits
}

// Run replays a selection.
func (c *bulkCmd) Run(ctx context.Context, p shell.Process) error {
	if !c.DryRun && !c.Yes && !p.CanAnswer() {
		return shell.Usagef("nobody can be asked, as standard input is no terminal: look with --dry-run, then give --yes")
	}
	return c.ask(p, func(d *desk) error {
		request := c.request()
		if c.DryRun {
			return d.rehearse(ctx, request)
		}
		seen, agreed, err := d.confirm(ctx, request, c.Yes)
		if err != nil || !agreed {
			return err
		}
		var bulk adminapi.Bulk
		answer, err := d.Post(ctx, "/replays", c.order(request, seen), &bulk)
		if err != nil {
			return err
		}
		if !d.json {
			fmt.Fprintf(d.Stdout, "bulk replay %s of %s has begun\n", terminal.Line(bulk.ID), shell.Plural(bulk.Total, "dead letter"))
		}
		switch {
		case !c.NoFollow:
			return d.follow(ctx, bulk.ID, true)
		case d.json:
			return shell.PrintJSON(d.Stdout, answer)
		}
		return nil
	})
}

// request is what the flags ask for, as a dry run.
func (c *bulkCmd) request() adminapi.BulkRequest {
	r := adminapi.BulkRequest{IDs: c.ID, DryRun: true, Pin: string(c.Pin), Reason: c.Reason}
	if c.Rate != nil {
		r.RatePerSecond = *c.Rate
	}
	if len(c.ID) == 0 {
		r.Filter = new(c.filter())
	}
	return r
}

// order turns a dry run into the order to begin. What somebody was asked about is
// what is replayed; with --yes nobody was. Nothing is taken that died after the last that
// was seen, by the clock that wrote that down, not by this machine's.
func (c *bulkCmd) order(look adminapi.BulkRequest, seen adminapi.Selection) adminapi.BulkRequest {
	look.DryRun, look.RequestID = false, uuid.NewString()
	if look.Filter != nil && look.Filter.To.IsZero() && len(seen.Items) > 0 {
		last := slices.MaxFunc(seen.Items, func(a, b adminapi.Selected) int { return a.DeadAt.Compare(b.DeadAt) })
		filter := *look.Filter
		filter.To = last.DeadAt.Add(time.Microsecond) // Firestore's unit
		look.Filter = &filter
	}
	if !c.Yes && look.Pin == "" {
		look.Pin = seen.Pin
	}
	return look
}

// rehearse prints what a bulk replay would take.
func (d *desk) rehearse(ctx context.Context, request adminapi.BulkRequest) error {
	var s adminapi.Selection
	answer, err := d.Post(ctx, "/replays", request, &s)
	if err != nil {
		return err
	}
	if d.json {
		return shell.PrintJSON(d.Stdout, answer)
	}
	t := shell.NewTable(d.Stdout, "DEAD SINCE", "TIER", "EVENT", "AGGREGATE", "LAST ERROR", "ID")
	for _, i := range s.Items {
		t.Row(moment(i.DeadAt), string(i.Tier), i.Outbox+"/"+i.EventType,
			aggregateOf(i.AggregateID, i.AggregateVersion), brief(whyDead(i), 60), i.ID)
	}
	if err := d.endPage(t, len(s.Items), "dead letters to replay", ""); err != nil {
		return err
	}
	tellSelection(d.Stdout, s)
	return nil
}

func whyDead(i adminapi.Selected) string {
	if i.LastError == nil {
		return string(i.Reason)
	}
	return told(*i.LastError)
}

func tellSelection(w io.Writer, s adminapi.Selection) {
	fmt.Fprintf(w, "%s would be replayed\n", shell.Plural(len(s.Items), "dead letter"))
	if p := s.Plan; len(s.Items) > p.Canary {
		fmt.Fprintf(w, "%d of them first, then ever faster up to %g a second: %s at the least\n", p.Canary, p.RatePerSecond, time.Duration(p.Seconds)*time.Second)
	}
	for _, why := range slices.Sorted(maps.Keys(s.Refused)) {
		fmt.Fprintf(w, "%d would not: %s\n", s.Refused[why], terminal.Line(why))
	}
}

// confirm finds out what a bulk replay would take, and unless yes is given tells
// that and asks on the terminal. Where there is nothing to take it says so.
func (d *desk) confirm(ctx context.Context, request adminapi.BulkRequest, yes bool) (s adminapi.Selection, agreed bool, err error) {
	answer, err := d.Post(ctx, "/replays", request, &s)
	if err != nil {
		return s, false, err
	}
	nothing := len(s.Items) == 0
	if nothing || !yes {
		tellSelection(d.Stderr, s)
	}
	switch {
	case nothing && d.json:
		return s, false, shell.PrintJSON(d.Stdout, answer)
	case nothing:
		fmt.Fprintln(d.Stdout, "nothing to do")
		return s, false, nil
	case yes:
		return s, true, nil
	}
	agreed, err = d.Agrees("Replay them? [y/N] ")
	if err == nil && !agreed {
		fmt.Fprintln(d.Stderr, "nothing was replayed")
	}
	return s, agreed, err
}
