package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"outboxrelay/cmd/relay-bench/postgres"
	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/deploy/local/rig"
)

// Sources, which outbox is measured.
const (
	sourceFirestore = "firestore"
	sourcePostgres  = "postgres"
)

// options are the command line.
type options struct {
	source string   // firestore or postgres
	cloud  string   // embedded or google
	only   []string // measurements; empty: all
	rounds int
	window int    // of the floor's listeners; 0: the better one of floorWindows
	page   int    // of the polled floor
	relay  string // path of a built outbox-relay; "": build it
	before string // path of another one to compare with; "": none
	short  bool
	strict bool
	scale  scale
	// distance is how much longer each call to the embedded cloud takes, as to one that is
	// not on the same machine; 0: no longer.
	distance time.Duration

	publisher string         // path of a built outbox-publisher; "": build it
	postgres  postgres.Scale // of the source of this name
}

// ofPostgres are the flags that have a meaning for the source of this name.
var ofPostgres = []string{"source", "only", "rounds", "drain", "lead", "rate", "publisher", "short", "strict"}

// onlyOfPostgres are those that have one for it alone.
var onlyOfPostgres = []string{"lead", "publisher"}

func parseOptions(args []string, usage io.Writer) (options, error) {
	opts := options{}
	var only, backlogs string
	var wanted scale // 0: as the scale has it
	var lead int
	flags := flag.NewFlagSet("relay-bench", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&opts.source, "source", sourceFirestore, "whose outbox: firestore, or postgres for that of outbox-publisher")
	flags.StringVar(&opts.cloud, "cloud", rig.CloudEmbedded, "what to run on: embedded, or google for Google's emulators")
	flags.StringVar(&only, "only", "", "measurements, separated by commas: "+strings.Join(measureNames(), ", ")+"; of Postgres "+strings.Join(postgres.Names(), ", "))
	flags.DurationVar(&opts.distance, "distance", 0, "how much longer each call to the embedded cloud takes, as one over a network does")
	flags.IntVar(&opts.rounds, "rounds", 2, "how often the sides are measured in turn")
	flags.IntVar(&opts.window, "floor-window", 0, "documents in a window of the floor's listeners; 0: the better of 200 and 500")
	flags.IntVar(&opts.page, "floor-page", 300, "documents of the polled floor's pages")
	flags.StringVar(&opts.relay, "relay", "", "a built outbox-relay; without it one is built")
	flags.StringVar(&opts.before, "before", "", "another built outbox-relay, measured beside; without it none")
	flags.IntVar(&wanted.drain, "drain", 0, "records of the measurements drain and order (default 20000, with -short 1000)")
	flags.IntVar(&lead, "lead", 0, "of Postgres: rows of one aggregate in front of as many of others (default 10000, with -short 500)")
	flags.StringVar(&opts.publisher, "publisher", "", "of Postgres: a built outbox-publisher; without it one is built")
	flags.StringVar(&backlogs, "backlogs", "", "records of the measurement memory, which -only must name, separated by commas (default 1000,10000,100000,1000000)")
	flags.IntVar(&wanted.deliver, "deliver", 0, "how many records of each backlog the measurement memory has delivered at most (default 100000)")
	flags.IntVar(&wanted.large, "large", 0, fmt.Sprintf("records of its last backlog, whose payloads have %d KiB (default 200)", largePayload>>10))
	flags.IntVar(&wanted.steadyRate, "rate", 0, "records a second of the measurements steady and billing (default 200; on Google's emulators 30)")
	flags.DurationVar(&wanted.soakFor, "soak", 0, "how long the measurement soak lasts, which -only must name (default 10m, with -short 20s)")
	flags.BoolVar(&opts.short, "short", false, "a smoke run of about a minute")
	flags.BoolVar(&opts.strict, "strict", false, fmt.Sprintf("exit with %d when an aim is missed", exitOver))
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if only != "" {
		opts.only = strings.Split(only, ",")
	}
	opts.scale = full
	if opts.short {
		opts.scale = smoke
		opts.rounds = 1
	}
	if opts.cloud == rig.CloudGoogle {
		opts.scale = opts.scale.onGoogle()
	}
	var err error
	if wanted.backlogs, err = parseSizes(backlogs); err != nil {
		return options{}, fmt.Errorf("-backlogs: %w", err)
	}
	opts.scale = opts.scale.with(wanted)
	if opts.source == sourcePostgres {
		opts.postgres = postgresScale(opts.short, wanted, lead)
	}
	return opts, errors.Join(opts.validate(), checkSource(opts.source, flags))
}

// checkSource refuses flags that would mean nothing for the source.
func checkSource(source string, flags *flag.FlagSet) error {
	var errs []error
	flags.Visit(func(f *flag.Flag) {
		if source == sourcePostgres && !slices.Contains(ofPostgres, f.Name) || source == sourceFirestore && slices.Contains(onlyOfPostgres, f.Name) {
			errs = append(errs, fmt.Errorf("-%s has no meaning with -source %s", f.Name, source))
		}
	})
	return errors.Join(errs...)
}

// postgresScale is how much is measured of Postgres: as wanted where that is not 0.
func postgresScale(short bool, wanted scale, lead int) postgres.Scale {
	sc := postgres.Full
	if short {
		sc = postgres.Smoke
	}
	sc.Drain, sc.Rate, sc.Lead = cmp.Or(wanted.drain, sc.Drain), cmp.Or(wanted.steadyRate, sc.Rate), cmp.Or(lead, sc.Lead)
	return sc
}

// validate names everything that is wrong.
func (o options) validate() error {
	var errs []error
	names := measureNames()
	switch o.source {
	case sourceFirestore:
	case sourcePostgres:
		names = postgres.Names()
	default:
		errs = append(errs, fmt.Errorf("-source is %q, want %s or %s", o.source, sourceFirestore, sourcePostgres))
	}
	if o.cloud != rig.CloudEmbedded && o.cloud != rig.CloudGoogle {
		errs = append(errs, fmt.Errorf("-cloud is %q, want %s or %s", o.cloud, rig.CloudEmbedded, rig.CloudGoogle))
	}
	if o.rounds < 1 {
		errs = append(errs, fmt.Errorf("-rounds is %d, want at least 1", o.rounds))
	}
	if o.scale.soakFor < minSoak {
		errs = append(errs, fmt.Errorf("-soak is %v, want at least %v", o.scale.soakFor, minSoak))
	}
	for name, n := range map[string]int{
		"-drain": o.scale.drain, "-deliver": o.scale.deliver, "-large": o.scale.large, "-rate": o.scale.steadyRate,
		"-backlogs": slices.Min(o.scale.backlogs), "-floor-page": o.page,
	} {
		if n < 1 {
			errs = append(errs, fmt.Errorf("%s is %d, want at least 1", name, n))
		}
	}
	switch {
	case o.distance < 0:
		errs = append(errs, fmt.Errorf("-distance is %v, want 0 or more", o.distance))
	case o.distance > 0 && o.cloud != rig.CloudEmbedded:
		errs = append(errs, fmt.Errorf("-distance needs -cloud %s: Google's emulators have no switch for it", rig.CloudEmbedded))
	}
	if o.source == sourcePostgres && o.postgres.Lead < 1 {
		errs = append(errs, fmt.Errorf("-lead is %d, want at least 1", o.postgres.Lead))
	}
	if o.window < 0 {
		errs = append(errs, fmt.Errorf("-floor-window is %d, want 0 or more", o.window))
	}
	for _, name := range o.only {
		if !slices.Contains(names, name) {
			errs = append(errs, fmt.Errorf("-only names %q, want some of %s", name, strings.Join(names, ", ")))
		}
	}
	return errors.Join(errs...)
}

// wants reports whether a measurement is to be made.
func (o options) wants(m measure) bool {
	if m.embeddedOnly && o.cloud != rig.CloudEmbedded {
		return false
	}
	return len(o.only) == 0 && !m.apart || slices.Contains(o.only, m.name)
}

// sides are whom a measurement is made for, in turn.
func (o options) sides(m measure) []table.Side {
	return slices.DeleteFunc(slices.Clone(m.sides), func(who table.Side) bool { return who == sideBefore && o.before == "" })
}

// listens reports whether the listening floor is to be measured.
func (o options) listens() bool {
	return slices.ContainsFunc(measures(), func(m measure) bool {
		return o.wants(m) && m.name != startName && slices.Contains(m.sides, sideFloor)
	})
}

// compares reports whether anything is to be measured that the table shows.
func (o options) compares() bool {
	return slices.ContainsFunc(measures(), func(m measure) bool { return o.wants(m) && m.name != soakName })
}
