package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"outboxrelay/deploy/local/ordeal"
	"outboxrelay/deploy/local/rig"
)

// options are the command line.
type options struct {
	cloud     string // embedded or google
	seed      uint64
	faults    int
	relays    int
	leaseTerm time.Duration
	rate      int    // records a second, over all outboxes
	relay     string // path of a built outbox-relay; "": build it
	only      string // names of faults, separated by commas; "": all
	short     bool
	keepLogs  bool
}

// How much a run does unless it is told.
const (
	longFaults  = 100
	shortFaults = 10 // which take about 45 s
)

func parseOptions(args []string, usage io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("relay-chaos", flag.ContinueOnError)
	flags.StringVar(&opts.cloud, "cloud", rig.CloudEmbedded, "what to run on: embedded, or google for Google's emulators")
	flags.Uint64Var(&opts.seed, "seed", 0, "of everything that is drawn; 0: a new one, printed")
	flags.IntVar(&opts.faults, "kills", 0, fmt.Sprintf("faults to make; 0: %d, or %d with -short", longFaults, shortFaults))
	flags.IntVar(&opts.relays, "relays", 2, "relay processes")
	flags.DurationVar(&opts.leaseTerm, "lease-term", 3*time.Second, "lease term of the relays")
	flags.IntVar(&opts.rate, "rate", 40, "records appended a second")
	flags.StringVar(&opts.relay, "relay", "", "a built outbox-relay; without it one is built")
	flags.StringVar(&opts.only, "only", "", "faults to draw from, separated by commas; without it all of them")
	flags.BoolVar(&opts.short, "short", false, "a run of about 45 s")
	flags.BoolVar(&opts.keepLogs, "v", false, "keep the relays' logs; those of a run that failed are kept anyway")
	if err := ordeal.Parse(flags, args, usage); err != nil {
		return options{}, err
	}
	if opts.seed == 0 {
		opts.seed = rand.Uint64N(1_000_000) + 1 // short enough to be typed
	}
	if opts.faults == 0 {
		opts.faults = longFaults
		if opts.short {
			opts.faults = shortFaults
		}
	}
	return opts, opts.validate()
}

// validate names everything that is wrong.
func (o options) validate() error {
	errs := []error{ordeal.CheckCloud(o.cloud)}
	if o.faults < 0 {
		errs = append(errs, fmt.Errorf("-kills is %d, want 0 or more", o.faults))
	}
	if o.relays < 1 {
		errs = append(errs, fmt.Errorf("-relays is %d, want at least 1", o.relays))
	}
	if o.leaseTerm < time.Second {
		errs = append(errs, fmt.Errorf("-lease-term is %v, want at least 1s", o.leaseTerm))
	}
	if o.rate < 1 || o.rate > 1000 {
		errs = append(errs, fmt.Errorf("-rate is %d, want 1 to 1000", o.rate))
	}
	if _, err := kindsOf(o); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// command is what makes the same run again.
func (o options) command() string {
	c := fmt.Sprintf("go run ./cmd/relay-chaos -cloud %s -seed %d -kills %d -relays %d -lease-term %v -rate %d", o.cloud, o.seed, o.faults, o.relays, o.leaseTerm, o.rate)
	if o.only != "" {
		c += " -only " + o.only
	}
	if o.relay != "" {
		c += " -relay " + o.relay
	}
	return c
}
