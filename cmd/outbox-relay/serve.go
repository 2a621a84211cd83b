package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/heart"
	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/tracing"
	"outboxrelay/cmd/outbox-relay/web"
	"outboxrelay/dlq/admin/auth"
	"outboxrelay/relay"
)

// serveCmd runs the service.
type serveCmd struct {
	Host string `env:"HOST" default:"0.0.0.0" help:"Address to serve HTTP on."`
	Port int    `env:"PORT" default:"8080" help:"Port to serve HTTP on; 0: any free one."`

	projectFlags
	catalogFlags
	standInFlags
	EnsureTopics bool `env:"ENSURE_TOPICS" help:"Create the topics that are missing."`
	authFlags
	leaseFlags
	queueFlags
	tuningFlags
	logFlags
}

// Help is the long text of serve --help.
func (c *serveCmd) Help() string {
	return `Answers GET /healthz or /alive (200 unless only a restart can help), /readyz or /ready (the state as JSON; 503 only when this instance can do no work) and /metrics, and under /admin/v1 the admin API of the dead-letter queue (/admin/v1/openapi.json describes it).

FIRESTORE_EMULATOR_HOST, PUBSUB_EMULATOR_HOST and FIREBASE_AUTH_EMULATOR_HOST lead to emulators, as in every Google client. Without credentials for Firebase Auth the service starts all the same: records for the handler of claims wait, all others are delivered.

Several instances share the outboxes through leases in Firestore: each outbox is relayed by one of them, evenly spread. What one gives up as it stops, another takes at once; after a crash, when the lease has run out.

OTEL_EXPORTER_OTLP_ENDPOINT turns traces on, with OpenTelemetry's other variables (OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME, ...): one record's way as spans that continue its own traceparent. At https://telemetry.googleapis.com the service's own credentials are used. Nothing waits for a collector.

--queues jobs,notifications runs the work queues too: jobs of domain events, by the templates of the catalog, over the channels in_app, email (--smtp-*) and pubsub (--jobs-topic); and in-app notifications. Instances share them without leases. /readyz tells how each does.

SIGTERM or SIGINT: it reads nothing more, finishes what is in delivery, gives its outboxes back and ends within the stop budget. A second signal ends it at once.`
}

// Validate names what is wrong with the flags.
func (c *serveCmd) Validate() error {
	errs := []error{c.standInFlags.Validate(), c.leaseFlags.Validate(), c.queueFlags.Validate(), c.tuningFlags.Validate()}
	if c.Port < 0 || c.Port > 65535 {
		errs = append(errs, fmt.Errorf("--port is %d, want 0 to 65535", c.Port))
	}
	return errors.Join(errs...)
}

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, p shell.Process) error {
	at, err := c.place(p.Env)
	if err != nil {
		return err
	}
	catalog, err := c.load(p.Env)
	if err != nil {
		return err
	}
	if catalog, err = c.apply(catalog); err != nil {
		return err
	}
	if catalog, err = c.with(catalog); err != nil {
		return err
	}
	queues, err := c.config(p.Env)
	if err != nil {
		return err
	}
	log, err := c.Logger(p.Stderr, at.Project)
	if err != nil {
		return err
	}
	if c.Shown {
		log.Warn("--smtp-password shows the password to everybody who can list the processes of this machine: set SMTP_PASSWORD, or --smtp-password-file")
	}
	traces, err := tracing.FromEnv(p.Env)
	if err != nil {
		return err
	}
	who, err := c.authenticator(c.Host, c.Port, log)
	if err != nil {
		return err
	}
	lis, err := web.Listen(net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), "choose another with --port or PORT")
	if err != nil {
		return err
	}
	log.Info("starting", zap.String("project", at.Project), where(at), zap.String("admin", whoMayAsk(auth.Mode(c.AuthMode))))
	beating := heart.New(log)
	svc, err := newService(ctx, serviceConfig{
		place: at, catalog: catalog, ensureTopics: c.EnsureTopics, queues: queues, tuning: c.tuning(), who: who, mode: auth.Mode(c.AuthMode), log: log,
		instance: c.instance(p.Env), revision: p.Env.Get("K_REVISION"), leaseTerm: c.LeaseTerm,
		traces: traces, heart: beating, keeper: beating.Watch("leases", leasePatience+2*c.LeaseTerm),
	})
	if err != nil {
		_ = lis.Close() // nothing has used it
		return err
	}
	log.Info("serving", append([]zap.Field{
		zap.Stringer("addr", lis.Addr()), zap.String("project", at.Project), zap.String("outboxes", outboxNames(catalog)),
		zap.Strings("queues", queues.run),
		zap.String("build", version()),
	}, program.Resources(p.Env)...)...)
	return svc.run(ctx, site{watchedBy(servicePages(svc.health, svc.registry), beating), svc.api, svc.console}, lis)
}

// leasePatience, with two terms, is for the goroutine that keeps the leases,
// which beats before each call of a fifth of a term.
const leasePatience = time.Minute

// tuningFlags are the relay's intervals that a deployment may want to change.
// Their defaults are the relay's own; see tuningDefaults.
type tuningFlags struct {
	CanaryInterval time.Duration `env:"CANARY_INTERVAL" default:"${canaryInterval}" help:"How often each listener of an outbox is proved alive while something is pending there, and of all others one; each time costs a write and a read."`
	SilenceBound   time.Duration `env:"SILENCE_BOUND" default:"${silenceBound}" help:"How long a canary may stay unseen before its listener is rebuilt."`
	SweepInterval  time.Duration `env:"SWEEP_INTERVAL" default:"${sweepInterval}" help:"How often each outbox is swept for what no listener sees."`
	SweepAge       time.Duration `env:"SWEEP_AGE" default:"${sweepAge}" help:"How old a pending record must be before a sweep calls it missed."`
	StopBudget     time.Duration `env:"STOP_BUDGET" default:"${stopBudget}" help:"Time from the signal to the end."`
}

// tuningDefaults are the values of the defaults' placeholders.
func tuningDefaults() kong.Vars {
	t := relay.DefaultTuning()
	return kong.Vars{
		"canaryInterval": t.CanaryInterval.String(),
		"silenceBound":   t.SilenceBound.String(),
		"sweepInterval":  t.SweepInterval.String(),
		"sweepAge":       t.SweepAge.String(),
		"stopBudget":     t.StopBudget.String(),
		"leaseTerm":      leaseTermDefault,
	}
}

// Validate names every interval that is out of range.
func (f tuningFlags) Validate() error {
	var errs []error
	for _, d := range []struct {
		flag string
		v    time.Duration
	}{
		{"canary-interval", f.CanaryInterval},
		{"silence-bound", f.SilenceBound},
		{"sweep-interval", f.SweepInterval},
		{"sweep-age", f.SweepAge},
		{"stop-budget", f.StopBudget},
	} {
		if d.v <= 0 {
			errs = append(errs, fmt.Errorf("--%s is %v, want more than 0", d.flag, d.v))
		}
	}
	return errors.Join(errs...)
}

func (f tuningFlags) tuning() relay.Tuning {
	t := relay.DefaultTuning()
	t.CanaryInterval, t.SilenceBound = f.CanaryInterval, f.SilenceBound
	t.SweepInterval, t.SweepAge = f.SweepInterval, f.SweepAge
	t.StopBudget = f.StopBudget
	return t
}
