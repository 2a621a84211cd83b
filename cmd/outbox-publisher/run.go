package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/logging"
	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/web"
)

// runCmd publishes.
type runCmd struct {
	Host string `env:"HOST" default:"0.0.0.0" help:"Address to serve HTTP on."`
	Port int    `env:"PORT" default:"8080" help:"Port to serve HTTP on; 0: any free one."`

	EnsureTopic bool `env:"PACKFINDERZ_OUTBOX_ENSURE_TOPIC" help:"Create the topic if it is missing."`

	databaseFlags
	topicFlags
	tuningFlags
	logging.Flags
}

// Help is the long text of run --help.
func (c *runCmd) Help() string {
	return `DATABASE_URL names the database, PUBSUB_EMULATOR_HOST an emulator of Pub/Sub. Several may run at the same time: they share the work and keep each aggregate's order.

Serves /healthz, /readyz (database and topic) and /metrics. SIGTERM ends it once what is under way is acknowledged and marked, within 8 s; a second one at once.`
}

// stopBudget is how long a stop may take: less than the 10 s that platforms give.
const stopBudget = 8 * time.Second

// Run publishes until ctx ends.
func (c *runCmd) Run(ctx context.Context, p shell.Process) error {
	tune, tuneErr := c.read()
	place, placeErr := c.place(p.Env)
	var portErr error
	if c.Port < 0 || c.Port > 65535 {
		portErr = fmt.Errorf("PORT (--port) is %d, want 0 to 65535", c.Port)
	}
	pool, err := c.open(ctx, p.Env, placeErr, tuneErr, portErr)
	if err != nil {
		return err
	}
	s := &service{topic: c.Topic, pool: pool}
	log, flush, err := c.GatheringLogger(p.Stderr, place.Project)
	if err != nil {
		pool.Close()
		return err
	}
	defer flush()
	s.log = log
	if err := s.join(ctx, place, tune, c.EnsureTopic); err != nil {
		return errors.Join(err, s.close(ctx))
	}
	lis, err := web.Listen(net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), "choose another with --port or PORT")
	if err != nil {
		return errors.Join(err, s.close(ctx))
	}
	log.Info("publishing", append([]zap.Field{
		zap.Stringer("addr", lis.Addr()), zap.String("project", place.Project), zap.String("topic", c.Topic),
		zap.Int("batch", tune.batch), zap.Duration("poll", tune.poll), zap.Int("maxAttempts", tune.maxAttempts),
		zap.String("build", thisBuild().Of(name)),
	}, program.Resources(p.Env)...)...)
	return s.run(ctx, lis)
}
