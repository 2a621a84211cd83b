package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay/workqueue"
	"outboxrelay/relay/workqueue/desk"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
)

// queuesConfig says which work queues run, and by what.
type queuesConfig struct {
	run           []string // names; none: none runs
	notifications notifications.Settings
	smtp          smtpConfig
}

// queueWrites is what the engine may take for its last writes once its own stop
// budget is over.
const queueWrites = 2 * time.Second

// openQueues makes the work queues that are to run, and the desk of all. Each that runs has a
// connection to Firestore of its own: its listener is not to stand in front of the relay's commits.
func (s *service) openQueues(ctx context.Context, letters *dlqfirestore.Client, tracer trace.Tracer, cfg serviceConfig) error {
	if err := ownDocuments(cfg.queues.run, cfg.catalog); err != nil {
		return err
	}
	if cfg.queues.notifications == (notifications.Settings{}) {
		cfg.queues.notifications = notifications.Default()
	}
	looking, err := notifications.New(letters.Client, cfg.queues.notifications, nil, nil) // for its view alone
	if err != nil {
		return err
	}
	s.queues = map[string]*workqueue.Queue{}
	metrics := (*workqueue.Metrics)(nil)
	if len(cfg.queues.run) > 0 {
		metrics = workqueue.NewMetrics(s.registry)
	}
	for _, name := range cfg.queues.run {
		docs, err := cfg.place.DialFirestore(ctx)
		if err != nil {
			return err
		}
		s.cleanUp("Firestore client of queue "+name, func(context.Context) error { return docs.Close() })
		engine, err := s.queueConfig(ctx, name, docs, cfg)
		if err != nil {
			return err
		}
		engine.Tuning.StopBudget = max(cfg.tuning.StopBudget-queueWrites, time.Second)
		engine.Metrics, engine.Tracer, engine.Log = metrics, tracer, s.log.Named("workqueue")
		if s.queues[name], err = workqueue.New(engine); err != nil {
			return err
		}
	}
	here := make(map[string]desk.Instance, len(s.queues))
	for name, q := range s.queues {
		here[name] = q
	}
	s.desk, err = desk.New(desk.Config{
		Client: letters.Client, Views: []desk.View{jobs.View(), looking.View()}, Here: here, Log: s.log.Named("workqueue"),
	})
	return err
}

// queueConfig is what a queue runs with, but for what all have in common.
func (s *service) queueConfig(ctx context.Context, name string, docs *dlqfirestore.Client, cfg serviceConfig) (workqueue.Config, error) {
	if name == queueNotifications {
		handler, err := notifications.New(docs.Client, cfg.queues.notifications, notifications.NewMetrics(s.registry), s.log.Named("workqueue"))
		if err != nil {
			return workqueue.Config{}, err
		}
		return handler.Config(), nil
	}
	channels, err := s.openChannels(ctx, docs.Client, cfg)
	if err != nil {
		return workqueue.Config{}, err
	}
	templates, err := templatesOf(cfg.catalog)
	if err != nil {
		return workqueue.Config{}, err
	}
	return workqueue.Config{
		Client: docs.Client, Vocabulary: jobs.Vocabulary(), Handler: jobs.NewHandler(docs.Client, templates, channels), WorkerPrefix: queueJobs,
	}, nil
}

// templatesOf are the catalog's, as the handler of jobs has them.
func templatesOf(catalog *contracts.Catalog) (jobs.Templates, error) {
	texts := make(map[string]jobs.Text, len(catalog.Templates))
	for id, t := range catalog.Templates {
		texts[id] = jobs.Text(t)
	}
	return jobs.NewTemplates(texts)
}

// runQueues runs the work queues until ctx ends, and what they have in hand has come to
// its end.
func (s *service) runQueues(ctx context.Context) error {
	var g errgroup.Group
	for _, q := range s.queues {
		g.Go(func() error { return q.Run(ctx) })
	}
	return g.Wait()
}

// queueState is what /readyz tells of a queue.
type queueState struct {
	Queue    string    `json:"queue"`
	Instance string    `json:"instance"`
	Healthy  bool      `json:"healthy"` // its listener is alive, and its last round went well
	Waiting  int       `json:"waiting"`
	Later    int       `json:"later"`
	Busy     int       `json:"busy"`
	Listener string    `json:"listener"`
	Rebuilds int       `json:"rebuilds"`
	Reason   string    `json:"lastRebuild,omitempty"`
	RoundAt  time.Time `json:"roundAt,omitzero"`
	Round    string    `json:"roundTook,omitempty"`
	Error    string    `json:"roundError,omitempty"`
}

// queueStates tells of the queues that run here, in the order of their names.
func (s *service) queueStates() []queueState {
	var out []queueState
	for _, name := range []string{queueJobs, queueNotifications} {
		q := s.queues[name]
		if q == nil {
			continue
		}
		h := q.Health()
		st := queueState{
			Queue: h.Queue, Instance: h.Instance, Healthy: h.Ready(), Waiting: h.Waiting, Later: h.Later, Busy: h.Busy,
			Listener: h.Listener.State, Rebuilds: h.Listener.Rebuilds, Reason: h.Listener.Reason, RoundAt: h.Round.At, Error: h.Round.Error,
		}
		if !h.Round.At.IsZero() {
			st.Round = h.Round.Took.Round(time.Millisecond).String()
		}
		out = append(out, st)
	}
	return out
}

// queueCollections are those whose documents a queue takes for its own. Notifications find
// theirs in any collection of that name.
var queueCollections = map[string][]string{
	queueJobs:          {outbox.Jobs, outbox.DomainEvents, jobs.InAppMessages},
	queueNotifications: {notifications.CollectionEvents},
}

// ownDocuments refuses to run a queue beside an outbox of the same collection: it would
// close the outbox's records, which have the same status, as jobs that nobody knows.
func ownDocuments(queues []string, catalog *contracts.Catalog) error {
	for _, queue := range queues {
		for _, name := range queueCollections[queue] {
			if catalog.Outbox(name) != nil {
				return shell.Usagef("queue %s: collection %s is its own, and an outbox of the catalog as well: give the outbox another name, or leave the queue out of --queues", queue, name)
			}
		}
	}
	return nil
}
