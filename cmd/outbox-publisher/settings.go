package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
)

// tuningFlags are texts until settings reads them, so that all faults are told at once.
type tuningFlags struct {
	BatchSize   string `env:"PACKFINDERZ_OUTBOX_PUBLISH_BATCH_SIZE" default:"50" placeholder:"N" help:"Rows of a round at most, 1 to 1000."`
	PollMS      string `name:"poll-ms" env:"PACKFINDERZ_OUTBOX_PUBLISH_POLL_MS" default:"500" placeholder:"MS" help:"How often the table is looked at while it is empty, give or take a quarter, 10 to 60000 milliseconds."`
	MaxAttempts string `env:"PACKFINDERZ_OUTBOX_MAX_ATTEMPTS" default:"10" placeholder:"N" help:"The refusal with this number parks a row, 1 to 1000."`
	TTLHours    string `name:"idempotency-ttl-hours" env:"PACKFINDERZ_OUTBOX_IDEMPOTENCY_TTL_HOURS" default:"168" placeholder:"H" help:"How long consumers remember an event, 168 to 8760 hours. The publisher only checks it, so that all parts of a deployment may share one environment."`
}

// tuning is what tuningFlags say.
type tuning struct {
	batch, maxAttempts int
	poll, ttl          time.Duration
}

// read names everything that is wrong.
func (f tuningFlags) read() (tuning, error) {
	var errs []error
	number := func(variable, text string, least, most int) int {
		n, err := numberWithin(variable, text, least, most)
		if err != nil {
			errs = append(errs, err)
		}
		return n
	}
	t := tuning{
		batch:       number("PACKFINDERZ_OUTBOX_PUBLISH_BATCH_SIZE (--batch-size)", f.BatchSize, 1, 1000),
		poll:        time.Duration(number("PACKFINDERZ_OUTBOX_PUBLISH_POLL_MS (--poll-ms)", f.PollMS, 10, 60_000)) * time.Millisecond,
		maxAttempts: number("PACKFINDERZ_OUTBOX_MAX_ATTEMPTS (--max-attempts)", f.MaxAttempts, 1, 1000),
		ttl:         time.Duration(number("PACKFINDERZ_OUTBOX_IDEMPOTENCY_TTL_HOURS (--idempotency-ttl-hours)", f.TTLHours, 168, 8760)) * time.Hour,
	}
	return t, errors.Join(errs...)
}

// numberWithin reads a number, both bounds included.
func numberWithin(variable, text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is %q, want a number from %d to %d", variable, text, least, most)
	}
	return n, nil
}

// topicFlags name where the rows go.
type topicFlags struct {
	Project string `env:"GOOGLE_CLOUD_PROJECT" placeholder:"ID" help:"Google Cloud project of the topic."`
	Topic   string `env:"PACKFINDERZ_OUTBOX_TOPIC" default:"pf-domain-events" placeholder:"ID" help:"Topic, without its project."`
}

// place leads to Pub/Sub, or to the emulator that PUBSUB_EMULATOR_HOST names.
func (f topicFlags) place(env shell.Lookup) (gcp.Place, error) {
	var errs []error
	if f.Project == "" {
		errs = append(errs, errors.New("no project: set GOOGLE_CLOUD_PROJECT or --project"))
	}
	if f.Topic == "" {
		errs = append(errs, errors.New("no topic: set PACKFINDERZ_OUTBOX_TOPIC or --topic"))
	}
	return gcp.Place{Project: f.Project, PubSub: env.Get(gcp.EnvPubSub)}, errors.Join(errs...)
}
