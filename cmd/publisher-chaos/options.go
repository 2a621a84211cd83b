package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"outboxrelay/deploy/local/ordeal"
	"outboxrelay/deploy/local/rig"
)

// options are the command line.
type options struct {
	cloud      string // embedded or google
	rows       int
	publishers int
	kills      int
	restarts   int
	rate       int // rows appended a second; 0: as fast as it goes
	publisher  string
	short      bool
	keepLogs   bool
}

// How much a run does unless it is told.
const (
	longRows, longKills, longRestarts    = 100_000, 100, 20
	shortRows, shortKills, shortRestarts = 6_000, 10, 3
)

func parseOptions(args []string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("publisher-chaos", flag.ContinueOnError)
	flags.StringVar(&o.cloud, "cloud", rig.CloudEmbedded, "whose Pub/Sub: embedded, or google for Google's emulator")
	flags.IntVar(&o.rows, "rows", 0, fmt.Sprintf("rows to append; 0: %d, or %d with -short", longRows, shortRows))
	flags.IntVar(&o.publishers, "publishers", 4, "publishers at the same time")
	flags.IntVar(&o.kills, "kills", -1, fmt.Sprintf("publishers to kill; -1: %d, or %d with -short", longKills, shortKills))
	flags.IntVar(&o.restarts, "restarts", -1, fmt.Sprintf("restarts of Postgres; -1: %d, or %d with -short", longRestarts, shortRestarts))
	flags.IntVar(&o.rate, "rate", 0, "rows appended a second; 0: as fast as it goes")
	flags.StringVar(&o.publisher, "publisher", "", "a built outbox-publisher; without it one is built")
	flags.BoolVar(&o.short, "short", false, "a run of about 30 s")
	flags.BoolVar(&o.keepLogs, "v", false, "keep the logs; those of a run that failed are kept anyway")
	if err := ordeal.Parse(flags, args, usage); err != nil {
		return options{}, err
	}
	rows, kills, restarts := longRows, longKills, longRestarts
	if o.short {
		rows, kills, restarts = shortRows, shortKills, shortRestarts
	}
	if o.rows == 0 {
		o.rows = rows
	}
	if o.kills == -1 {
		o.kills = kills
	}
	if o.restarts == -1 {
		o.restarts = restarts
	}
	return o, o.validate()
}

// validate names everything that is wrong.
func (o options) validate() error {
	errs := []error{ordeal.CheckCloud(o.cloud)}
	for _, n := range []struct {
		name         string
		value, least int
	}{{"rows", o.rows, 1}, {"publishers", o.publishers, 1}, {"kills", o.kills, 0}, {"restarts", o.restarts, 0}, {"rate", o.rate, 0}} {
		if n.value < n.least {
			errs = append(errs, fmt.Errorf("-%s is %d, want at least %d", n.name, n.value, n.least))
		}
	}
	return errors.Join(errs...)
}
