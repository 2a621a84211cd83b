package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/alecthomas/kong"

	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/localrun"
	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/tracing"
	"outboxrelay/cmd/outbox-relay/web"
	"outboxrelay/contracts"
	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/console"
	"outboxrelay/ier"
	"outboxrelay/relay"
	"outboxrelay/relay/workqueue/notifications"
)

// localCmd runs everything on this machine.
type localCmd struct {
	HTTP    string   `name:"http" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where the console, health and metrics are served, on loopback; port 0: any free one."`
	Rate    *float64 `placeholder:"N" help:"Sample records a second; 0: as fast as it goes. Default 20, or 200 with --records."`
	Records int64    `placeholder:"N" help:"Append N sample records across all outboxes, deliver them, print a summary and exit."`
	Samples bool     `default:"true" negatable:"" help:"Run sample producers and consumers."`
	DataDir string   `type:"path" placeholder:"DIR" help:"Keeps Firestore's documents; without it they are in memory."`

	Fault       bool          `help:"Show what goes wrong: an outage, in which every publish to a target fails for a while, and a record of each tier that becomes a dead letter."`
	FaultTarget string        `default:"FUNNEL" placeholder:"TARGET" help:"Target of the outage."`
	FaultAfter  time.Duration `default:"5s" help:"When the outage begins."`
	FaultFor    time.Duration `default:"15s" help:"How long it lasts."`

	LogLevel  string `enum:"debug,info,warn,error" default:"error" env:"LOG_LEVEL" help:"Least severe level that is logged to standard error: debug, info, warn or error."`
	LogFormat string `enum:"json,console" default:"console" env:"LOG_FORMAT" help:"json (Cloud Logging's fields) or console."`

	catalogFlags
	standInFlags
	tuningFlags
}

// Defaults of --rate.
const (
	rateOfAShow    = 20  // leisurely enough to read along
	rateOfASummary = 200 // with --records
)

// Help is the long text of local --help.
func (c *localCmd) Help() string {
	return `Embedded Firestore, Pub/Sub and Auth, the relay, producers that append sample records to every outbox, consumers that check what arrives, and apps that fetch a new token when their account's claims change: nothing is installed, and no Google account is needed. Both work queues run, and three condominiums give them work: bells fill, and messages of jobs. On a terminal it shows a live table, else a line now and then.

With --fault an outage comes and goes, and a record of each tier is refused until it is a dead letter: one is replayed by itself within a minute, one waits for an operator, and one freezes its account, whose claims cannot be set and whose later records are held. The commands to try on them are printed at the start.

With --records the exit code tells whether the promise was kept: 0, or 4 if a record was lost or out of order; 130 if it was stopped before all were delivered.`
}

// Validate names what is wrong with the flags.
func (c *localCmd) Validate() error {
	errs := []error{c.standInFlags.Validate(), c.tuningFlags.Validate(), checkLoopback("--http", c.HTTP)}
	if c.Records < 0 {
		errs = append(errs, fmt.Errorf("--records is %d, want more than 0", c.Records))
	}
	if c.Rate != nil && (math.IsNaN(*c.Rate) || math.IsInf(*c.Rate, 0) || *c.Rate < 0) {
		errs = append(errs, fmt.Errorf("--rate is %v, want 0 or more", *c.Rate))
	}
	if !c.Samples && (c.Records > 0 || c.Rate != nil) {
		errs = append(errs, errors.New("--no-samples goes with neither --records nor --rate"))
	}
	if c.FaultAfter < 0 {
		errs = append(errs, fmt.Errorf("--fault-after is %v, want 0 or more", c.FaultAfter))
	}
	if c.FaultFor <= 0 {
		errs = append(errs, fmt.Errorf("--fault-for is %v, want more than 0", c.FaultFor))
	}
	return errors.Join(errs...)
}

// AfterApply is called by kong.
func (c *localCmd) AfterApply(parsed *kong.Context) error {
	if c.Records == 0 && program.Given(parsed, "records") {
		return errors.New("--records is 0, want more than 0: leave the flag out to go on without end")
	}
	for _, flag := range []string{"fault-target", "fault-after", "fault-for"} {
		if !c.Fault && program.Given(parsed, flag) {
			return fmt.Errorf("--%s is about the outage of --fault: give that, too", flag)
		}
	}
	return nil
}

func (c *localCmd) rate() float64 {
	switch {
	case c.Rate != nil:
		return *c.Rate
	case c.Records > 0:
		return rateOfASummary
	}
	return rateOfAShow
}

// Run runs until ctx ends, or until all records of --records are accounted for.
func (c *localCmd) Run(ctx context.Context, p shell.Process) error {
	catalog, err := c.load(p.Env)
	if err != nil {
		return err
	}
	if catalog, err = c.apply(catalog); err != nil {
		return err
	}
	catalog = demo.WithTemplate(catalog)
	settings, err := notifications.FromEnvironment(p.Env)
	if err != nil {
		return shell.Exit(shell.ExitUsage, err)
	}
	queues := queuesConfig{run: []string{queueJobs, queueNotifications}, notifications: settings}
	var outage *demo.Outage
	var troubles []*demo.Trouble
	if c.Fault {
		target, ok := catalog.Targets[c.FaultTarget]
		if !ok || target.Kind != contracts.KindPubSub {
			return shell.Usagef("--fault-target %s: the catalog has no such target", c.FaultTarget)
		}
		outage = demo.NewOutage(target, c.FaultAfter, c.FaultFor)
		troubles = demo.Plan(catalog, rand.Uint64(), c.FaultTarget)
	}
	log, err := logFlags{LogLevel: c.LogLevel, LogFormat: c.LogFormat}.Logger(p.Stderr, localrun.Project)
	if err != nil {
		return err
	}
	traces, err := tracing.FromEnv(p.Env)
	if err != nil {
		return err
	}
	lis, err := web.Listen(c.HTTP, "choose another with --http 127.0.0.1:PORT, or any free one with --http 127.0.0.1:0")
	if err != nil {
		return err
	}
	run, err := localrun.Open(ctx, localrun.Config{
		Catalog: catalog, DataDir: c.DataDir, Outage: outage, Troubles: troubles, Listener: lis, Log: log,
		Samples: c.Samples, Work: c.Samples, Rate: c.rate(), Records: c.Records,
		OpenService: func(ctx context.Context, at gcp.Place, wrap func(ier.Target) ier.Target) (localrun.Service, error) {
			return openLocalService(ctx, serviceConfig{place: at, catalog: catalog, queues: queues, tuning: c.tuning(), wrapHandler: wrap, log: log, traces: traces}, lis.Addr())
		},
	})
	if err != nil {
		_ = lis.Close() // nothing has used it
		return err
	}
	run.Start(ctx)
	return run.Show(ctx, p.Stdout, shell.IsTerminal(p.Stdout))
}

const (
	// localInstance is the one that owns the outboxes of a local run.
	localInstance = "local"
	// localLeaseTerm is short, since a run that was killed has its data taken up
	// by the next after that.
	localLeaseTerm = 3 * time.Second
)

// localService is a service as a local run shows it.
type localService struct {
	*service
}

// openLocalService joins a service for whoever is on this machine. addr is loopback: the
// command line sees to it.
func openLocalService(ctx context.Context, cfg serviceConfig, addr net.Addr) (localrun.Service, error) {
	cfg.instance, cfg.leaseTerm, cfg.mode = localInstance, localLeaseTerm, auth.ModeDev
	cfg.bells = func(docs *firestore.Client) console.Bells { return &demo.Bells{Client: docs} }
	var err error
	if cfg.who, err = auth.New(auth.Config{Mode: cfg.mode, ListenAddr: addr.String(), Log: cfg.log}); err != nil {
		return nil, err
	}
	svc, err := newService(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return localService{svc}, nil
}

// Health tells how the relay does.
func (s localService) Health() relay.Health { return s.relay.Health() }

// Run serves the pages of every instance.
func (s localService) Run(ctx context.Context, lis net.Listener) error {
	return s.run(ctx, site{servicePages(s.health, s.registry), s.api, s.console}, lis)
}

// Close closes the service within its budget.
func (s localService) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.budget)
	defer cancel()
	return s.close(ctx)
}
