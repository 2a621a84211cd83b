package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/alecthomas/kong"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/cmd/outbox-publisher/sample"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/logging"
	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/web"
	inboxredis "outboxrelay/contracts/inbox/redis"
	"outboxrelay/deploy/local/pubsub"
	"outboxrelay/relay/postgres/publisher"
)

// localCmd runs everything on this machine.
type localCmd struct {
	HTTP    string   `name:"http" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where health and metrics are served; port 0: any free one."`
	Records int      `placeholder:"N" help:"Commit N sample events, have them handled, print a summary and exit."`
	Rate    *float64 `placeholder:"N" help:"Sample transactions a second; 0: as fast as it goes. Default 20, or 0 with --records."`

	LogLevel  string `enum:"debug,info,warn,error" default:"error" env:"LOG_LEVEL" help:"Least severe level that is logged to standard error: debug, info, warn or error."`
	LogFormat string `enum:"json,console" default:"console" env:"LOG_FORMAT" help:"json (Cloud Logging's fields) or console."`

	tuningFlags
}

// Help is the long text of local --help.
func (c *localCmd) Help() string {
	return `Starts a Postgres and a Redis in a folder of their own, an embedded Pub/Sub, the publisher, producers whose transactions are rolled back now and then, and a consumer that handles each event once. DATABASE_URL and REDIS_URL name others to use, of which the database gets the table.

With --records the exit code is 1 if an event was lost, out of order within its aggregate, handled twice, or handled though it was rolled back; 130 if it was stopped before all were handled.`
}

// AfterApply is called by kong.
func (c *localCmd) AfterApply(parsed *kong.Context) error {
	if c.Records == 0 && program.Given(parsed, "records") {
		return errors.New("--records is 0, want more than 0: leave the flag out to go on without end")
	}
	return nil
}

// Validate names what is wrong with the flags.
func (c *localCmd) Validate() error {
	var errs []error
	if c.Records < 0 {
		errs = append(errs, fmt.Errorf("--records is %d, want more than 0", c.Records))
	}
	if c.Rate != nil && (math.IsNaN(*c.Rate) || math.IsInf(*c.Rate, 0) || *c.Rate < 0) {
		errs = append(errs, fmt.Errorf("--rate is %v, want 0 or more", *c.Rate))
	}
	return errors.Join(errs...)
}

const (
	rateOfAShow  = 20 // leisurely enough to read along
	localProject = "demo-packfinderz"
	subscription = "sample"
	// handledWithin is how long all samples of --records may take to be handled once they are appended.
	handledWithin = 10 * time.Minute
	lookEvery     = time.Second
)

func (c *localCmd) rate() float64 {
	switch {
	case c.Rate != nil:
		return *c.Rate
	case c.Records > 0:
		return 0
	}
	return rateOfAShow
}

// Run runs until ctx ends, or until all samples are accounted for.
func (c *localCmd) Run(ctx context.Context, p shell.Process) (err error) {
	tune, err := c.read()
	if err != nil {
		return shell.Exit(shell.ExitUsage, err)
	}
	log, err := logging.Flags{LogLevel: c.LogLevel, LogFormat: c.LogFormat}.Logger(p.Stderr, localProject)
	if err != nil {
		return err
	}
	logRedisIn(log)
	parts, err := startParts(ctx, p.Env)
	defer func() { err = errors.Join(err, parts.close()) }()
	if err != nil {
		return err
	}
	for _, line := range []string{envDatabase + "=" + parts.shown, "REDIS_URL=" + parts.redisURL, gcp.EnvPubSub + "=" + parts.pubsubAddr, "GOOGLE_CLOUD_PROJECT=" + localProject} {
		fmt.Fprintln(p.Stdout, line)
	}
	return c.play(ctx, p, log, tune, parts)
}

// play runs publisher, producers and consumer on the parts.
func (c *localCmd) play(asked context.Context, p shell.Process, log *zap.Logger, tune tuning, parts *parts) error {
	ctx, stop := context.WithCancel(asked)
	defer stop()
	pool, err := parts.pool(ctx)
	if err != nil {
		return err
	}
	s := &service{topic: publisher.DefaultTopic, pool: pool, log: log}
	if err := s.join(ctx, gcp.Place{Project: localProject, PubSub: parts.pubsubAddr}, tune, true); err != nil {
		return errors.Join(err, s.close(ctx))
	}
	if err := pubsub.Subscribe(ctx, s.clients.Background(), publisher.DefaultTopic, subscription); err != nil {
		return errors.Join(err, s.close(ctx))
	}
	lis, err := web.Listen(c.HTTP, "choose another with --http")
	if err != nil {
		return errors.Join(err, s.close(ctx))
	}
	fmt.Fprintf(p.Stdout, "http://%s/readyz and /metrics\n", lis.Addr())
	samples, err := parts.pool(ctx) // the publisher's is closed with it
	if err != nil {
		return errors.Join(err, lis.Close(), s.close(ctx))
	}
	defer samples.Close()
	ledger := sample.NewLedger()
	client, err := gcp.Place{Project: localProject, PubSub: parts.pubsubAddr}.DialPubSub(ctx)
	if err != nil {
		return errors.Join(err, lis.Close(), s.close(ctx))
	}
	defer func() { _ = client.Close() }() // only the consumer's
	consumer := &sample.Consumer{
		Client: client, Subscription: subscription, Store: inboxredis.New(parts.redis), Retention: tune.ttl,
		Ledger: ledger, Log: slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.run(ctx, lis) })
	g.Go(func() error { return consumer.Run(ctx) })
	produced := make(chan struct{})
	g.Go(func() error {
		defer close(produced)
		return sample.Produce(ctx, samples, ledger, c.Records, c.rate())
	})
	var kept error
	g.Go(func() error {
		defer stop()
		var err error
		kept, err = c.watch(ctx, p, ledger, samples, produced)
		return err
	})
	if err := errors.Join(g.Wait(), kept); err != nil || asked.Err() == nil {
		return err
	}
	return c.stopped(ledger.Figures())
}

// stopped is the end of --records by a signal, in which nothing was judged.
func (c *localCmd) stopped(f sample.Figures) error {
	if c.Records == 0 || f.Handled >= c.Records {
		return nil
	}
	return shell.Exit(shell.ExitStopped, fmt.Errorf("stopped before the end: %d of %d events were not handled", c.Records-f.Handled, c.Records))
}

// watch prints how it goes. With --records it returns once all are handled, with what was not kept.
func (c *localCmd) watch(ctx context.Context, p shell.Process, ledger *sample.Ledger, pool *pgxpool.Pool, produced <-chan struct{}) (kept, err error) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var deadline <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case <-produced:
			if c.Records == 0 {
				return nil, nil
			}
			produced = nil
			timer := time.NewTimer(handledWithin)
			defer timer.Stop()
			deadline = timer.C
		case <-deadline:
			return c.summary(ctx, p, ledger, pool)
		case <-ticker.C:
		}
		f := ledger.Figures()
		fmt.Fprintf(p.Stdout, "committed %d, rolled back %d, handled %d\n", f.Committed, f.RolledBack, f.Handled)
		if produced == nil && f.Handled >= f.Committed {
			return c.summary(ctx, p, ledger, pool)
		}
	}
}

// summary judges.
func (c *localCmd) summary(ctx context.Context, p shell.Process, ledger *sample.Ledger, pool *pgxpool.Pool) (kept, err error) {
	table, err := sample.Table(ctx, pool)
	if err != nil {
		return nil, err
	}
	f := ledger.Judge(table)
	fmt.Fprintf(p.Stdout, "\ncommitted %d, rolled back %d, handled %d, lost %d, out of order %d, with two effects %d, rolled back and handled %d\n",
		f.Committed, f.RolledBack, f.Handled, f.Lost, f.OutOfOrder, f.TwoEffects, f.Ghosts)
	if !f.Kept() {
		return errors.New("the promise was not kept"), nil
	}
	return nil, nil
}
