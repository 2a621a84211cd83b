package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/contracts/diff"
)

// day is a day on the command line, at midnight UTC.
type day struct{ time.Time }

// UnmarshalText reads it.
func (d *day) UnmarshalText(text []byte) (err error) {
	if d.Time, err = time.Parse(time.DateOnly, string(text)); err != nil {
		return fmt.Errorf("%q is no day, such as 2026-03-01", text)
	}
	if d.Before(time.Unix(0, 0)) { // the zero time would count as not given
		return fmt.Errorf("%q is a day before 1970", text)
	}
	return nil
}

type catalogDiffCmd struct {
	Old string `arg:"" help:"Catalog file as it is deployed."`
	New string `arg:"" help:"Catalog file as it is to be."`

	On   day  `placeholder:"DAY" help:"Day of the change, by which removals are judged, as 2026-03-01; without it today."`
	JSON bool `name:"json" help:"Print the changes as JSON."`
}

// Help is the long text of catalog diff --help.
func (c *catalogDiffCmd) Help() string {
	return `Each change is told with its consequence: "breaking" where something that worked is refused, lost or misread, "heed" where everything goes on otherwise than before, "additive" where nobody has to do anything.

A payload's schema says what producers may write and what consumers may meet. So within one version only a new optional field is additive; any other change of it belongs into a new version beside the old. A version, an event type or an outbox may go 30 days after its deprecatedOn.

Each file's schemas are looked up beside it: to compare with another commit, check that out in a directory of its own (git worktree add).

Exit codes: 0 nothing breaks; 2 a catalog is not valid; 3 something breaks.`
}

// changesShown is the document of --json.
type changesShown struct {
	Changes  []diff.Change `json:"changes"`
	Breaking int           `json:"breaking"`
}

func (c *catalogDiffCmd) Run(_ context.Context, p shell.Process) error {
	was, err := loadCatalog(c.Old)
	if err != nil {
		return err
	}
	is, err := loadCatalog(c.New)
	if err != nil {
		return err
	}
	on := c.On.Time
	if on.IsZero() {
		on = time.Now().UTC()
	}
	changes := diff.Compare(was, is, on)
	breaking := diff.Count(changes, diff.Breaking)
	if c.JSON {
		err = shell.WriteJSON(p.Stdout, changesShown{append([]diff.Change{}, changes...), breaking})
	} else {
		err = showChanges(p.Stdout, changes)
	}
	if err == nil && breaking > 0 {
		err = shell.Exit(shell.ExitRefused, fmt.Errorf("compare catalogs: %d of %d changes break something", breaking, len(changes)))
	}
	return err
}

// showChanges writes changes to be read.
func showChanges(w io.Writer, changes []diff.Change) error {
	for _, c := range changes {
		fmt.Fprintf(w, "%-8s  %s\n          %s\n", c.Kind, terminal.Line(c.Path()+" "+c.Change), terminal.Line(c.Consequence))
		if c.Remedy != "" {
			fmt.Fprintf(w, "          instead or besides: %s\n", terminal.Line(c.Remedy))
		}
	}
	_, err := fmt.Fprintf(w, "%d changes: %d breaking, %d to heed, %d additive\n",
		len(changes), diff.Count(changes, diff.Breaking), diff.Count(changes, diff.Heed), diff.Count(changes, diff.Additive))
	return err
}
