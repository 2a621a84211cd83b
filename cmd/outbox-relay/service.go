package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/heart"
	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/status"
	"outboxrelay/cmd/outbox-relay/tracing"
	"outboxrelay/cmd/outbox-relay/web"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/console"
	dlqfirestore "outboxrelay/dlq/firestore"
	dlqtrace "outboxrelay/dlq/trace"
	"outboxrelay/ier"
	ierpubsub "outboxrelay/ier/pubsub"
	"outboxrelay/relay"
	relayfirestore "outboxrelay/relay/firestore"
	"outboxrelay/relay/workqueue"
	"outboxrelay/relay/workqueue/desk"
)

const (
	// relayShare is the relay's own part of the stop budget. The rest is for
	// what it leaves behind: publishers, lag samples, the last HTTP answers.
	relayShare = 7.0 / 8
	// ensureTopicsWithin bounds the look at the topics before the start. The
	// client tries again while Pub/Sub is unavailable.
	ensureTopicsWithin = 30 * time.Second
)

// serviceConfig is what a service is made of.
type serviceConfig struct {
	place        gcp.Place
	catalog      *contracts.Catalog // with no handler target left but that of claims
	ensureTopics bool
	queues       queuesConfig
	bells        func(*firestore.Client) console.Bells // of a local run; nil: there are none
	// wrapHandler, if not nil, is given each handler target and returns what
	// takes its place.
	wrapHandler func(ier.Target) ier.Target
	tuning      relay.Tuning // its StopBudget is the whole service's
	who         auth.Authenticator
	mode        auth.Mode // of who
	log         *zap.Logger
	instance    string // among those that share the outboxes
	revision    string // of the deployment; may be empty
	leaseTerm   time.Duration
	heart       *heart.Heart    // that watches over the service; nil: none
	keeper      *heart.Sign     // which what keeps the leases beats; nil: none
	traces      *tracing.Config // nil: none
}

// service is a relay joined with its clients, targets and metrics.
type service struct {
	log      *zap.Logger
	relay    *relay.Relay
	queues   map[string]*workqueue.Queue // that run here, by name
	desk     *desk.Desk                  // of all work queues
	api      http.Handler                // the admin API, under admin.Prefix
	console  *console.Server
	lags     *status.Lags // of the last minute
	registry *prometheus.Registry
	heart    *heart.Heart
	looks    []func(context.Context) // at what a target may lack, once, beside the relay
	budget   time.Duration           // from the wish to stop to the end
	cleanups []cleanup               // in the order in which they were added
}

// cleanup gives back what one part took, before ctx ends.
type cleanup struct {
	what string
	f    func(ctx context.Context) error
}

// newService joins a service. run or close must follow.
func newService(ctx context.Context, cfg serviceConfig) (*service, error) {
	s := &service{log: cfg.log, registry: newRegistry(), heart: cfg.heart, budget: cfg.tuning.StopBudget}
	if err := s.join(ctx, cfg); err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.budget)
		defer cancel()
		return nil, errors.Join(err, s.close(closing))
	}
	return s, nil
}

func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
		thisBuild().Metric(),
	)
	return registry
}

func (s *service) join(ctx context.Context, cfg serviceConfig) error {
	for _, warning := range cfg.catalog.Warnings {
		s.log.Warn("catalog", zap.String("warning", warning))
	}
	// First, so that its clean-up is the last: what is cleaned up before ends spans.
	tracer, err := s.openTracing(ctx, cfg)
	if err != nil {
		return err
	}
	stores, err := s.openStores(ctx, cfg)
	if err != nil {
		return err
	}
	clients, err := s.openPubSub(ctx, cfg)
	if err != nil {
		return err
	}
	router, err := s.openRouter(ctx, clients, tracer, cfg)
	if err != nil {
		return err
	}
	cfg.tuning.StopBudget = time.Duration(relayShare * float64(cfg.tuning.StopBudget))
	s.relay, err = relay.New(relay.Config{
		Catalog: cfg.catalog, Store: stores.relay, Router: router, Queue: stores.queue, Leases: stores.leases,
		Log: s.log.Named("relay"), Registerer: s.registry, Tracer: tracer, Tuning: cfg.tuning,
	})
	if err != nil {
		return err
	}
	if err := s.joinSiblings(stores.queue, clients); err != nil {
		return err
	}
	if err := s.openQueues(ctx, stores.letters, tracer, cfg); err != nil {
		return err
	}
	return s.openAPI(stores, cfg)
}

// stores is what the service has of Firestore.
type stores struct {
	relay  *relayfirestore.Store
	queue  *dlq.Queue
	traces *dlqtrace.Finder
	leases *relay.Leases
	// letters is the connection of the dead-letter queue, and of whoever looks at work queues.
	letters *dlqfirestore.Client
}

// openStores connects to Firestore four times: listeners' streams never stand
// in front of a commit, nor the reads of operators; nor anything in front of a
// lease that is to be renewed in time.
func (s *service) openStores(ctx context.Context, cfg serviceConfig) (stores, error) {
	var clients []*dlqfirestore.Client
	for _, what := range []string{"watching", "writing", "dead-letter queue's", "leases'"} {
		client, err := cfg.place.DialFirestore(ctx)
		if err != nil {
			return stores{}, err
		}
		s.cleanUp(what+" Firestore client", func(context.Context) error { return client.Close() })
		clients = append(clients, client)
	}
	letters := dlqfirestore.New(clients[2])
	queue, err := dlq.New(dlq.Config{Store: letters, Catalog: cfg.catalog, Log: s.log.Named("dlq")})
	if err != nil {
		return stores{}, err
	}
	leases := &relay.Leases{
		Store: dlqfirestore.New(clients[3]), Instance: cfg.instance, Revision: cfg.revision, Term: cfg.leaseTerm,
		Beat: cfg.keeper.Beat,
	}
	return stores{
		relay: relayfirestore.New(clients[0], clients[1]), queue: queue, traces: dlqtrace.New(letters, queue, cfg.catalog), leases: leases, letters: clients[2],
	}, nil
}

// openPubSub connects to Pub/Sub, and makes the topics where that is asked for.
func (s *service) openPubSub(ctx context.Context, cfg serviceConfig) (*ierpubsub.Clients, error) {
	clients, err := ierpubsub.NewClients(ctx, cfg.place.Project, cfg.place.PubSubOptions()...)
	if err != nil {
		return nil, err
	}
	s.cleanUp("Pub/Sub clients", func(context.Context) error { return clients.Close() })
	topics := cfg.catalog.Topics()
	if cfg.ensureTopics {
		tellUnreachable(ctx, cfg.place, s.log) // which waits for them
		return clients, ensureTopics(ctx, clients, topics)
	}
	s.looks = append(s.looks, func(ctx context.Context) { tellUnreachable(ctx, cfg.place, s.log) })
	s.looks = append(s.looks, func(ctx context.Context) { s.tellMissing(ctx, clients, topics) })
	return clients, nil
}

// openRouter makes the catalog's targets.
func (s *service) openRouter(ctx context.Context, clients *ierpubsub.Clients, tracer trace.Tracer, cfg serviceConfig) (*ier.Router, error) {
	log := s.log.Named("ier")
	metrics := ierpubsub.NewMetrics(s.registry)
	sampler, err := ierpubsub.NewSampler(clients.Background(), ierpubsub.SamplerConfig{Topic: contracts.TopicMetrics, Metrics: metrics, Log: log})
	if err != nil {
		return nil, err
	}
	s.cleanUpSamples(sampler.Close)
	s.lags = status.NewLags(sampler, time.Now)
	topics, err := ierpubsub.NewTargets(clients, cfg.catalog, ierpubsub.Settings{Metrics: metrics})
	if err != nil {
		return nil, err
	}
	s.cleanUp("targets", topics.Close)

	targets := make(map[string]ier.Target, len(topics))
	for name, target := range topics {
		targets[name] = target
	}
	if cfg.catalog.Targets[claimsTarget].Kind == contracts.KindHandler {
		target, err := s.openClaims(ctx, clients, metrics, cfg)
		if err != nil {
			return nil, err
		}
		if cfg.wrapHandler != nil {
			target = cfg.wrapHandler(target)
		}
		targets[claimsTarget] = target
	}
	return ier.New(ier.Config{
		Targets: targets, Catalog: cfg.catalog, Sampler: s.lags, Registerer: s.registry, Log: log, Tracer: tracer,
	})
}

// ensureTopics creates those that are missing.
func ensureTopics(ctx context.Context, clients *ierpubsub.Clients, topics []string) error {
	ctx, cancel := context.WithTimeout(ctx, ensureTopicsWithin)
	defer cancel()
	if err := ierpubsub.EnsureTopics(ctx, clients.Background(), topics); err != nil {
		return fmt.Errorf("ensure topics of project %s: %w (outbox-relay doctor says what is missing)", clients.Background().Project(), err)
	}
	return nil
}

// tellMissing logs which topics are missing, beside the relay: a missing topic is
// an outage of its targets, no reason to keep the others waiting.
func (s *service) tellMissing(ctx context.Context, clients *ierpubsub.Clients, topics []string) {
	look, cancel := context.WithTimeout(ctx, ensureTopicsWithin)
	defer cancel()
	missing, err := ierpubsub.MissingTopics(look, clients.Background(), topics)
	switch {
	case ctx.Err() != nil: // stopped meanwhile
	case err != nil:
		s.log.Warn("the topics could not be looked at", zap.Error(err))
	case len(missing) > 0:
		s.log.Warn("topics are missing; records for them wait (--ensure-topics creates them)", zap.Strings("topics", missing))
	}
}

// state is what /readyz tells.
type state struct {
	relay.Health
	Queues []queueState  `json:"queues,omitempty"` // that run here; one that is sick is told, and no reason to be unready
	Build  program.Build `json:"build"`
}

// health tells the relay's state; see web.HealthSource.
func (s *service) health() (any, bool) {
	h := s.relay.Health()
	return state{h, s.queueStates(), thisBuild()}, h.Ready
}

// run relays and serves pages on lis until ctx ends, and then stops within the
// budget. The HTTP server answers until the relay has drained, so that /readyz
// can tell that it is stopping. An error says why the service stopped by
// itself, or what it could not finish.
func (s *service) run(ctx context.Context, pages http.Handler, lis net.Listener) error {
	srv := web.NewServer(pages, s.log)
	g, ctx := errgroup.WithContext(ctx)
	stopBy := make(chan time.Time, 1)
	defer context.AfterFunc(ctx, func() { stopBy <- time.Now().Add(s.budget) })()
	defer context.AfterFunc(ctx, s.console.Close)() // open pages turn to another instance, which they find on their own
	defer context.AfterFunc(ctx, s.heart.Rest)()
	g.Go(func() error { return s.heart.Feel(ctx, s.relay) })
	g.Go(func() error { return web.Serve(srv, lis) })
	for _, look := range s.looks {
		g.Go(func() error { look(ctx); return nil })
	}
	working, stopQueues := context.WithCancel(ctx) // the relay's end is theirs, also when it ends by itself
	defer stopQueues()
	queued := make(chan struct{}) // closed when they have ended
	g.Go(func() error {
		defer close(queued)
		return s.runQueues(working)
	})
	g.Go(func() error {
		err := s.relay.Run(ctx)
		stopQueues()
		<-queued // within their own budget, a part of the relay's
		deadline := time.Now().Add(s.budget)
		if ctx.Err() != nil {
			deadline = <-stopBy
		}
		closing, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()
		return errors.Join(err, answerLast(closing, srv), s.close(closing))
	})
	return g.Wait()
}

// answerLast shuts the HTTP server while all that its answers need is still
// open: a decision that is being written comes to its end. The other half of
// the time is for what is closed afterwards.
func answerLast(ctx context.Context, srv *http.Server) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	return web.Shut(ctx, srv)
}

func (s *service) cleanUp(what string, f func(context.Context) error) {
	s.cleanups = append(s.cleanups, cleanup{what, f})
}

// close runs the clean-ups, last first, and joins what went wrong.
func (s *service) close(ctx context.Context) error {
	var errs []error
	for _, c := range slices.Backward(s.cleanups) {
		if err := c.f(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", c.what, err))
		}
	}
	s.cleanups = nil
	return errors.Join(errs...)
}

// outboxNames joins the names of a catalog's outboxes, for a log line.
func outboxNames(c *contracts.Catalog) string {
	var names []string
	for _, o := range c.Outboxes {
		names = append(names, o.Name)
	}
	return strings.Join(names, ",")
}
