package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"outboxrelay/cmd/outbox-relay/appender"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
)

// appendCmd appends records to an outbox.
type appendCmd struct {
	File string `arg:"" optional:"" help:"JSON lines to append, a record each; - reads standard input."`

	Outbox     string  `placeholder:"NAME" help:"Outbox of the samples, and of lines that name none."`
	Samples    int     `placeholder:"N" help:"Append N sample records in place of a file."`
	Aggregates int     `default:"10" placeholder:"K" help:"Aggregates that the samples belong to."`
	Seed       *uint64 `placeholder:"S" help:"Makes the samples the same again, so that a repeat appends nothing; without it they are new each time."`
	SkipBad    bool    `help:"Append the good records although there are bad ones."`

	projectFlags
	catalogFlags
}

// Help is the long text of append --help.
func (c *appendCmd) Help() string {
	return `A line is a record as in Firestore: {"eventId": "...", "eventType": "...", "payload": {...}, ...}, with timestamps in RFC 3339, and "outbox" where --outbox does not name it. createdAt is set by Firestore and status to pending; both may be left out. A record's document ID is its idempotencyKey, so appending it twice is a no-op.

Every record is checked before the first one is written. A bad one is named with its line and all its faults, and nothing is written unless --skip-bad is given. Bad is also what has the key of an earlier line and is not the same event. Of a key that another record in the outbox has already, Firestore tells only when it is written: that record is left as it is, the line is named, and the others are written.

Exit codes: 0 all records are in their outbox; 1 Firestore failed, run the same again; 2 flags or catalog are wrong; 3 there were bad records (with --skip-bad the good ones are in).`
}

// maxSamples bounds the samples of one run: they are made in memory, all before the first is
// written.
const maxSamples = 1_000_000

// Validate names flags that do not fit together.
func (c *appendCmd) Validate() error {
	switch {
	case (c.Samples > 0) == (c.File != ""):
		return errors.New("give either --samples N or a file of JSON lines (- for standard input)")
	case c.Samples < 0:
		return fmt.Errorf("--samples is %d, want more than 0", c.Samples)
	case c.Samples > maxSamples:
		return fmt.Errorf("--samples is %d, want %d at most", c.Samples, maxSamples)
	case c.Samples > 0 && c.Outbox == "":
		return errors.New("--samples needs --outbox")
	case c.Aggregates < 1:
		return fmt.Errorf("--aggregates is %d, want more than 0", c.Aggregates)
	}
	return nil
}

// Run appends the records.
func (c *appendCmd) Run(ctx context.Context, p shell.Process) error {
	at, err := c.place(p.Env)
	if err != nil {
		return err
	}
	catalog, err := c.load(p.Env)
	if err != nil {
		return err
	}
	if c.Outbox != "" && catalog.Outbox(c.Outbox) == nil {
		return shell.Usagef("--outbox %s: the catalog does not declare it", c.Outbox)
	}
	records, refused, err := c.records(catalog, p)
	if err != nil {
		return err
	}
	all := refused + len(records)
	if refused > 0 && !c.SkipBad {
		return shell.Exit(shell.ExitRefused, fmt.Errorf("%d of %d records are bad; nothing was written (--skip-bad writes the others)", refused, all))
	}
	client, err := dialFirestore(ctx, at, p.Stderr)
	if err != nil {
		return err
	}
	outcome, err := appender.Write(ctx, client.Client, records)
	for _, collision := range outcome.Collisions {
		collision.Tell(p.Stderr, c.source())
	}
	fmt.Fprintf(p.Stdout, "appended %d records, %d were there already\n", outcome.Written, outcome.Repeated)
	if err != nil {
		err = fmt.Errorf("append records: %d of %d are in: %w", outcome.Written+outcome.Repeated, len(records), err)
	}
	var verdict error
	if bad := refused + len(outcome.Collisions); bad > 0 {
		verdict = shell.Exit(shell.ExitRefused, fmt.Errorf("%d of %d records are bad", bad, all))
	}
	return errors.Join(err, client.Close(), verdict)
}

// source names where the lines are from.
func (c *appendCmd) source() string {
	if c.File == "-" {
		return "standard input"
	}
	return c.File
}

// records makes the samples or reads the lines. It tells the bad ones on
// stderr and returns how many they were.
func (c *appendCmd) records(catalog *contracts.Catalog, p shell.Process) (good []appender.Record, refused int, err error) {
	if c.Samples > 0 {
		return c.samples(catalog), 0, nil
	}
	in := p.Stdin
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return nil, 0, shell.Usagef("read records: %w", err)
		}
		defer file.Close()
		in = file
	}
	return appender.ReadLines(in, c.source(), c.Outbox, catalog, p.Stderr)
}

// samples makes valid records, the aggregates in turn. Without a seed the
// aggregates are new ones, as their versions start at 1.
func (c *appendCmd) samples(catalog *contracts.Catalog) []appender.Record {
	seed := rand.Uint64()
	if c.Seed != nil {
		seed = *c.Seed
	}
	r := rand.New(rand.NewPCG(seed, 0))
	outbox, now := catalog.Outbox(c.Outbox), time.Now()
	out := make([]appender.Record, c.Samples)
	for i := range out {
		aggregate := contracts.SampleAggregate(outbox, fmt.Sprintf("%s-%016x-%d", outbox.Name, seed, i%c.Aggregates))
		rec := catalog.Sample(r, outbox, aggregate, int64(1+i/c.Aggregates), now)
		out[i] = appender.Record{Outbox: outbox.Name, ID: rec.ID, Fields: rec.ProducerFields()}
	}
	return out
}
