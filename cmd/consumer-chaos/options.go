package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"outboxrelay/deploy/local/ordeal"
	"outboxrelay/deploy/local/rig"
)

// options are the command line.
type options struct {
	cloud    string // embedded or google
	catalog  string // path
	events   int
	kills    int // of relays, and as many of consumers
	rate     int // events appended a second
	rounds   int // runs, among which events and kills are dealt
	relay    string
	short    bool
	keepLogs bool
}

// How much a run does unless it is told.
const (
	longEvents, longKills, longRate    = 10_000, 50, 40
	shortEvents, shortKills, shortRate = 600, 3, 60
	// googleRounds keep a run on Google's emulators within what its Firestore carries: that does
	// not forget the listeners of a process that was killed, and runs the query of each in every
	// commit. After 50 relays it had 1,230, and a commit took longer than a claim may.
	googleRounds = 4
)

func parseOptions(args []string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("consumer-chaos", flag.ContinueOnError)
	flags.StringVar(&o.cloud, "cloud", rig.CloudEmbedded, "what to run on: embedded, or google for Google's emulators")
	flags.StringVar(&o.catalog, "catalog", "contracts/catalogs/matching.yaml", "the catalog; each of its event types names its consumers")
	flags.IntVar(&o.events, "events", 0, fmt.Sprintf("events to append; 0: %d, or %d with -short", longEvents, shortEvents))
	flags.IntVar(&o.kills, "kills", 0, fmt.Sprintf("relays to kill, and consumers; 0: %d, or %d with -short", longKills, shortKills))
	flags.IntVar(&o.rate, "rate", 0, fmt.Sprintf("events appended a second; 0: %d, or %d with -short", longRate, shortRate))
	flags.IntVar(&o.rounds, "rounds", 0, fmt.Sprintf("runs to make, each on a fresh cloud, among which events and kills are dealt; 0: one, or %d for a long run on google", googleRounds))
	flags.StringVar(&o.relay, "relay", "", "a built outbox-relay; without it one is built")
	flags.BoolVar(&o.short, "short", false, "a run of about 30 s")
	flags.BoolVar(&o.keepLogs, "v", false, "keep the logs; those of a run that failed are kept anyway")
	if err := ordeal.Parse(flags, args, usage); err != nil {
		return options{}, err
	}
	events, kills, rate, rounds := longEvents, longKills, longRate, 1
	if o.short {
		events, kills, rate = shortEvents, shortKills, shortRate
	} else if o.cloud == rig.CloudGoogle {
		rounds = googleRounds
	}
	for value, standard := range map[*int]int{&o.events: events, &o.kills: kills, &o.rate: rate, &o.rounds: rounds} {
		if *value == 0 {
			*value = standard
		}
	}
	return o, o.validate()
}

// validate names everything that is wrong.
func (o options) validate() error {
	errs := []error{ordeal.CheckCloud(o.cloud)}
	if o.events < 1 {
		errs = append(errs, fmt.Errorf("-events is %d, want at least 1", o.events))
	}
	if o.kills < 1 {
		errs = append(errs, fmt.Errorf("-kills is %d, want at least 1", o.kills))
	}
	if o.rate < 1 || o.rate > 1000 {
		errs = append(errs, fmt.Errorf("-rate is %d, want 1 to 1000", o.rate))
	}
	if most := min(o.events, o.kills); o.rounds < 1 || o.rounds > most && most > 0 {
		errs = append(errs, fmt.Errorf("-rounds is %d, want 1 to %d: each has an event and a kill at least", o.rounds, most))
	}
	return errors.Join(errs...)
}

// dealt are the options of each round.
func (o options) dealt() []options {
	rounds := make([]options, o.rounds)
	for i := range rounds {
		rounds[i] = o
		rounds[i].events = share(o.events, o.rounds, i)
		rounds[i].kills = share(o.kills, o.rounds, i)
	}
	return rounds
}

// share is the i-th of n shares of a total, which differ by one at most.
func share(total, n, i int) int { return total*(i+1)/n - total*i/n }

// grace is how long a store may take. The claim of a killed process lasts three times that,
// and handlerTimeout more.
func (o options) grace() time.Duration {
	if o.cloud == rig.CloudGoogle { // whose Firestore is slow where there is much of anything
		return 5 * time.Second
	}
	return 2 * time.Second
}

// aggregates is how many an outbox has: so few that an event often comes while the one before it is being handled, where that
// does not take long.
func (o options) aggregates() int {
	if o.cloud == rig.CloudGoogle {
		return 40
	}
	return 4
}

// quiet is how long no message comes at the end before all is taken to be over: longer than
// Pub/Sub waits for the acknowledgement of one that went to a killed consumer.
func (o options) quiet() time.Duration {
	if o.short {
		return 3 * time.Second
	}
	return ackDeadline + 5*time.Second
}
