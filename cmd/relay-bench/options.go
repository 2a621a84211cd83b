package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"outboxrelay/deploy/local/rig"
)

// options are the command line.
type options struct {
	cloud  string   // embedded or google
	only   []string // measurements; empty: all
	rounds int
	window int    // of the floor's listeners; 0: the better one of floorWindows
	relay  string // path of a built outbox-relay; "": build it
	short  bool
	strict bool
	scale  scale
}

// scale is how much is measured.
type scale struct {
	trial  int // records of a trial of the floor's window
	warmup int // records delivered before a latency is measured: the emulators' Java starts slow

	drain int // records of a drain

	rssSmall, rssMiddle, rssLarge int           // backlogs
	rssFor                        time.Duration // how long their memory is watched

	steadyRate int // records a second
	steadyFor  time.Duration

	floodBacklog int // BACKGROUND records in front of the flood
	floodRate    int // BACKGROUND records a second during it
	criticalRate int // CRITICAL records a second, in front and during
	floodFor     time.Duration

	billing int           // records of the billed drain
	idleFor time.Duration // how long an idle relay's bill is watched

	soakStep time.Duration // how long a rate is tried
	soakFor  time.Duration
}

// full is what the aims are stated for.
var full = scale{
	trial: 6_000, warmup: 2_000,
	drain:    20_000,
	rssSmall: 1_000, rssMiddle: 20_000, rssLarge: 100_000, rssFor: 20 * time.Second,
	steadyRate: 200, steadyFor: 20 * time.Second,
	floodBacklog: 20_000, floodRate: 500, criticalRate: 50, floodFor: 15 * time.Second,
	billing: 5_000, idleFor: time.Minute,
	soakStep: 10 * time.Second, soakFor: 10 * time.Minute,
}

// smoke shows in a minute that everything runs.
var smoke = scale{
	trial: 500, warmup: 100,
	drain:    1_000,
	rssSmall: 100, rssMiddle: 1_000, rssLarge: 2_000, rssFor: 2 * time.Second,
	steadyRate: 100, steadyFor: 2 * time.Second,
	floodBacklog: 1_000, floodRate: 200, criticalRate: 50, floodFor: 2 * time.Second,
	billing: 500, idleFor: 3 * time.Second,
	soakStep: 2 * time.Second, soakFor: 20 * time.Second,
}

func parseOptions(args []string, usage io.Writer) (options, error) {
	opts := options{scale: full}
	var only string
	var soakFor time.Duration
	flags := flag.NewFlagSet("relay-bench", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&opts.cloud, "cloud", rig.CloudEmbedded, "what to run on: embedded, or google for Google's emulators")
	flags.StringVar(&only, "only", "", "measurements, separated by commas: "+strings.Join(measureNames(), ", "))
	flags.IntVar(&opts.rounds, "rounds", 2, "how often floor and relay are measured in turn")
	flags.IntVar(&opts.window, "floor-window", 0, "documents in a window of the floor's listeners; 0: the better of 200 and 500")
	flags.StringVar(&opts.relay, "relay", "", "a built outbox-relay; without it one is built")
	flags.DurationVar(&soakFor, "soak", 0, "how long the measurement soak lasts, which -only must name (default 10m, with -short 20s)")
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
	if opts.short {
		opts.scale = smoke
		opts.rounds = 1
	}
	if soakFor != 0 {
		opts.scale.soakFor = soakFor
	}
	return opts, opts.validate()
}

// validate names everything that is wrong.
func (o options) validate() error {
	var errs []error
	if o.cloud != rig.CloudEmbedded && o.cloud != rig.CloudGoogle {
		errs = append(errs, fmt.Errorf("-cloud is %q, want %s or %s", o.cloud, rig.CloudEmbedded, rig.CloudGoogle))
	}
	if o.rounds < 1 {
		errs = append(errs, fmt.Errorf("-rounds is %d, want at least 1", o.rounds))
	}
	if o.scale.soakFor < minSoak {
		errs = append(errs, fmt.Errorf("-soak is %v, want at least %v", o.scale.soakFor, minSoak))
	}
	if o.window < 0 {
		errs = append(errs, fmt.Errorf("-floor-window is %d, want 0 or more", o.window))
	}
	for _, name := range o.only {
		if !slices.Contains(measureNames(), name) {
			errs = append(errs, fmt.Errorf("-only names %q, want some of %s", name, strings.Join(measureNames(), ", ")))
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

// compares reports whether a floor is to be measured too.
func (o options) compares() bool {
	return slices.ContainsFunc(measures(), func(m measure) bool { return !m.apart && o.wants(m) })
}
