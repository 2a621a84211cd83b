package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/web"
	ierpubsub "outboxrelay/ier/pubsub"
	"outboxrelay/relay/postgres/publisher"
)

// ensureWithin bounds the look at the topic before the start.
const ensureWithin = 30 * time.Second

// service is a publisher with its clients and pages.
type service struct {
	log       *zap.Logger
	topic     string
	pool      *pgxpool.Pool
	clients   *ierpubsub.Clients
	target    *ierpubsub.Target
	publisher *publisher.Publisher
	registry  *prometheus.Registry
	readiness *readiness
}

// join makes the parts. close must follow in any case.
func (s *service) join(ctx context.Context, place gcp.Place, tune tuning, ensureTopic bool) (err error) {
	s.registry = prometheus.NewRegistry()
	s.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), thisBuild().Metric(),
	)
	if s.clients, err = ierpubsub.NewClients(ctx, place.Project, place.PubSubOptions()...); err != nil {
		return err
	}
	if ensureTopic {
		within, cancel := context.WithTimeout(ctx, ensureWithin)
		defer cancel()
		if err := ierpubsub.EnsureTopics(within, s.clients.Background(), []string{s.topic}); err != nil {
			return err
		}
	}
	if s.target, err = ierpubsub.NewTarget(s.clients, s.topic, ierpubsub.Settings{Metrics: ierpubsub.NewMetrics(s.registry)}); err != nil {
		return err
	}
	s.publisher, err = publisher.New(publisher.Options{
		Pool: s.pool, Target: s.target, Topic: s.topic,
		Batch: tune.batch, Poll: tune.poll, MaxAttempts: tune.maxAttempts, Registerer: s.registry, Log: s.log.Named("publisher"),
	})
	if err != nil {
		return err
	}
	s.readiness = &readiness{publisher: s.publisher, client: s.clients.Background(), topic: s.topic}
	return nil
}

// run publishes and serves pages on lis until ctx ends, and then stops within the budget. The pages
// answer until the publisher has drained.
func (s *service) run(ctx context.Context, lis net.Listener) error {
	srv := web.NewServer(web.Pages{
		"/healthz": alive, "/alive": alive,
		"/readyz": web.Readiness(s.readiness.ask), "/ready": web.Readiness(s.readiness.ask),
		"/metrics": promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}),
	}, s.log)
	g, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, s.readiness.stop)()
	g.Go(func() error { return web.Serve(srv, lis) })
	g.Go(func() error {
		stopBy := make(chan time.Time, 1)
		defer context.AfterFunc(ctx, func() { stopBy <- time.Now().Add(stopBudget) })()
		err := s.publisher.Run(ctx)
		deadline := time.Now().Add(stopBudget)
		if ctx.Err() != nil {
			deadline = <-stopBy
		}
		closing, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()
		err = errors.Join(err, web.Shut(closing, srv), s.close(closing))
		s.log.Info("stopped", zap.Error(err))
		return err
	})
	return g.Wait()
}

// close gives back what join took, until ctx ends.
func (s *service) close(ctx context.Context) error {
	var errs []error
	if s.target != nil {
		errs = append(errs, s.target.Close(ctx))
	}
	if s.clients != nil {
		errs = append(errs, s.clients.Close())
	}
	s.closePool(ctx)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// closePool leaves what is not closed when ctx ends to the end of the process: of a database that hangs a
// connection takes 15 s to close, and the marks are made or not by then.
func (s *service) closePool(ctx context.Context) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.pool.Close()
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		s.log.Warn("connections to the database are left open: they did not close in time")
	}
}
