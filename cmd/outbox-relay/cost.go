package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// costCmd says what a workload costs.
type costCmd struct {
	Rate  float64            `default:"100" placeholder:"N" help:"Records a second, over all outboxes."`
	Size  cost.Bytes         `default:"1KiB" placeholder:"BYTES" help:"Payload of a record."`
	Split map[string]float64 `placeholder:"OUTBOX=WEIGHT" help:"How the records spread over the outboxes: --split 'wsOutbox=3;accOutbox=1'. Default: evenly."`

	FanOut      *float64    `placeholder:"N" help:"Pub/Sub targets of a record. Default: the catalog's, each of an outbox's event types counting the same."`
	Claims      *cost.Share `placeholder:"SHARE" help:"Share of role and policy changes. Default: the catalog's, as above."`
	OnDelivered string      `enum:"catalog,mark,delete" default:"catalog" help:"What becomes of a delivered record: mark, delete, or what the catalog says."`
	Retention   *string     `placeholder:"DURATION" help:"How long a marked record stays. Default: the catalog's."`

	Failing cost.Share `default:"0.1%" placeholder:"SHARE" help:"Share of records that fail once before they are delivered."`
	DLQ     cost.Share `name:"dlq" default:"0.001%" placeholder:"SHARE" help:"Share of records that become dead letters."`
	Backlog cost.Share `default:"0%" placeholder:"SHARE" help:"Share of records that are read out of a backlog, which costs less."`

	Jobs          float64 `default:"0" placeholder:"N" help:"Jobs a second, of the work queue jobs; 0: it is not served."`
	JobsOfEvent   float64 `default:"1" placeholder:"N" help:"Jobs of one domain event."`
	JobChannel    string  `enum:"in_app,email,pubsub" default:"in_app" help:"Channel of the jobs: in_app, email or pubsub."`
	Notifications float64 `default:"0" placeholder:"N" help:"Events a second, of the work queue notifications; 0: it is not served."`
	Recipients    float64 `default:"2" placeholder:"N" help:"People that an event of notifications is for."`

	Subscriptions float64    `default:"1" placeholder:"N" help:"Subscriptions of each topic."`
	Instances     int        `default:"0" placeholder:"N" help:"Instances of the relay; 0: as many as are needed, two at least."`
	CPU           float64    `name:"cpu" default:"1" placeholder:"N" help:"Processors of an instance."`
	Memory        cost.Bytes `default:"0" placeholder:"BYTES" help:"Memory of an instance; 0: as much as is needed."`

	Region   string `default:"europe-west1" placeholder:"NAME" help:"Region of the prices."`
	Prices   string `type:"path" placeholder:"FILE" help:"Prices in the place of the built-in ones, which --print-prices prints."`
	FreeTier bool   `help:"Take off what is free of charge."`

	PrintPrices bool `help:"Print the built-in prices and exit."`
	JSON        bool `name:"json" help:"Print JSON."`

	catalogFlags
	costSchedule
}

// costSchedule are the settings of serve that an idle relay's costs depend on.
type costSchedule struct {
	CanaryInterval time.Duration `env:"CANARY_INTERVAL" default:"${canaryInterval}" help:"As for serve."`
	SweepInterval  time.Duration `env:"SWEEP_INTERVAL" default:"${sweepInterval}" help:"As for serve."`
	LeaseTerm      time.Duration `env:"LEASE_TERM" default:"${leaseTerm}" help:"As for serve."`
}

// Help is the long text of cost --help.
func (c *costCmd) Help() string {
	return `For a rate of records: the operations that Firestore bills, storage, Pub/Sub volume, instances and logs of a month and what they cost; the shards that each outbox needs under Firestore's published limits; instances and their memory. With --jobs and --notifications also what the work queues cost, whose instances these are. It asks nobody: the prices are a list with a date.

Each quantity says whether it was measured, is published by Google or is assumed; docs/SIZING.md has the formulas and the sources.`
}

// Validate names what is wrong with the flags that no workload knows.
func (c *costCmd) Validate() error {
	for name, d := range map[string]time.Duration{"--canary-interval": c.CanaryInterval, "--sweep-interval": c.SweepInterval} {
		if d <= 0 {
			return fmt.Errorf("%s is %v, want more than 0", name, d)
		}
	}
	return leaseFlags{LeaseTerm: c.LeaseTerm}.Validate()
}

// Run prints the estimate.
func (c *costCmd) Run(_ context.Context, p shell.Process) error {
	if c.PrintPrices {
		_, err := p.Stdout.Write(cost.PricesFile())
		return err
	}
	w, err := c.workload(p.Env)
	if err != nil {
		return err
	}
	if err := w.Validate(); err != nil {
		return shell.Exit(shell.ExitUsage, err)
	}
	estimate, err := cost.New(w)
	if err != nil {
		return shell.Exit(shell.ExitUsage, err)
	}
	if !c.JSON {
		return estimate.Print(p.Stdout)
	}
	enc := json.NewEncoder(p.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(estimate)
}

func (c *costCmd) workload(env shell.Lookup) (*cost.Workload, error) {
	catalog, err := c.load(env)
	if err != nil {
		return nil, err
	}
	prices, err := c.prices()
	if err != nil {
		return nil, shell.Exit(shell.ExitUsage, err)
	}
	w := &cost.Workload{
		Catalog: catalog, Rate: c.Rate, Payload: float64(c.Size), Split: c.Split, FanOut: cost.OfCatalog, Claims: cost.OfCatalog,
		Failing: float64(c.Failing), Dead: float64(c.DLQ), Backlog: float64(c.Backlog),
		Queues:        cost.Queues{Jobs: c.Jobs, JobsOfEvent: c.JobsOfEvent, Channel: c.JobChannel, Notifications: c.Notifications, Recipients: c.Recipients},
		Subscriptions: c.Subscriptions, Instances: c.Instances, CPU: c.CPU, Memory: float64(c.Memory) / (1 << 30),
		Schedule: cost.NewSchedule(relay.Tuning{CanaryInterval: c.CanaryInterval, SweepInterval: c.SweepInterval}, c.LeaseTerm),
		Prices:   prices, Region: c.Region, Free: c.FreeTier,
	}
	if c.FanOut != nil {
		if w.FanOut = *c.FanOut; w.FanOut < 0 {
			return nil, shell.Usagef("--fan-out is %v, want 0 or more targets for a record", w.FanOut)
		}
	}
	if c.Claims != nil {
		w.Claims = float64(*c.Claims)
	}
	if c.OnDelivered != "catalog" {
		w.OnDelivered = contracts.OnDelivered(c.OnDelivered)
	}
	if c.Retention != nil && c.OnDelivered == string(contracts.DeleteDelivered) {
		return nil, shell.Usagef("--retention is for records that are marked, and --on-delivered delete marks none: leave one of them out")
	}
	if c.Retention != nil {
		w.Retention, err = time.ParseDuration(*c.Retention)
		if err != nil || w.Retention <= 0 {
			return nil, shell.Usagef("--retention is %q, want a time such as 168h", *c.Retention)
		}
	}
	return w, nil
}

func (c *costCmd) prices() (*cost.Prices, error) {
	if c.Prices == "" {
		return cost.BuiltInPrices()
	}
	f, err := os.Open(c.Prices)
	if err != nil {
		return nil, fmt.Errorf("open prices: %w", err)
	}
	defer f.Close()
	return cost.ReadPrices(f)
}
