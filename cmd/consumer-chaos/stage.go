package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/child"
	"outboxrelay/deploy/local/freeport"
	local "outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/rig"
)

// project is the one of every run's cloud.
const project = "consumer-chaos"

const (
	relays        = 2
	perEnd        = 2 // consumer processes
	servingWithin = 2 * time.Minute
)

// stage is what a run happens on.
type stage struct {
	opts      options
	dir       string // of logs and databases
	progress  io.Writer
	catalog   *contracts.Catalog
	cloud     *rig.Cloud
	clients   *rig.Clients
	servers   []killer // Redis and Postgres
	dbDir     string   // of theirs; apart from dir, as their user may not look there
	redis     string
	postgres  string
	pool      *pgxpool.Pool
	relays    *child.Crew
	ends      []end
	dealt     map[string]end // consumers
	ordered   map[string]bool
	consumers map[end]*child.Crew
	truth     *truth

	standstill standstill
}

// openStage starts everything but the traffic. The caller calls close.
func openStage(ctx context.Context, o options, progress io.Writer) (*stage, error) {
	s := &stage{opts: o, progress: progress, consumers: map[end]*child.Crew{}, truth: newTruth()}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open stage: %w", err), s.close())
	}
	return s, nil
}

func (s *stage) open(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp("", "chaos-"); err != nil {
		return err
	}
	if s.opts.catalog, err = filepath.Abs(s.opts.catalog); err != nil {
		return err
	}
	if s.catalog, err = contracts.LoadCatalog(s.opts.catalog); err != nil {
		return err
	}
	relay, err := rig.Relay(ctx, s.opts.relay, s.dir, s.say)
	if err != nil {
		return err
	}
	if err := s.openDatabases(ctx); err != nil {
		return err
	}
	if s.cloud, err = rig.StartCloud(ctx, s.opts.cloud, relay, s.opts.catalog); err != nil {
		return err
	}
	if s.clients, err = s.cloud.Connect(ctx, project, s.catalog.Topics()); err != nil {
		return err
	}
	consumers := consumersOf(s.catalog)
	if len(consumers) == 0 {
		return errors.New("the catalog names no consumers")
	}
	s.ordered = ordered(consumers, s.ends)
	for name, topics := range consumers {
		for _, topic := range topics {
			if err := subscribe(ctx, s.clients.Messages, name, topic, s.ordered[name]); err != nil {
				return err
			}
		}
	}
	s.dealt = deal(consumers, s.ends)
	for _, e := range s.ends {
		s.consumers[e] = child.NewCrew(s.consumerOf(e, consumers))
		if err := s.consumers[e].Grow(ctx, perEnd); err != nil {
			return err
		}
	}
	s.relays = child.NewCrew(s.relayAt(relay))
	return s.relays.Grow(ctx, relays)
}

func (s *stage) openDatabases(ctx context.Context) error {
	s.ends = []end{endFirestore}
	var err error
	if s.dbDir, err = os.MkdirTemp("", "chaos-db-"); err != nil {
		return err
	}
	if err := os.Chmod(s.dbDir, 0o711); err != nil {
		return err
	}
	url, server, err := startPostgres(ctx, filepath.Join(s.dbDir, "pg"))
	s.own(server)
	if err != nil {
		return err
	}
	if url != "" {
		s.postgres, s.ends = url, append(s.ends, endPostgres)
		if s.pool, err = pgxpool.New(ctx, url); err != nil {
			return err
		}
		if err := migrate(ctx, s.pool); err != nil {
			return err
		}
	}
	s.redis, server, err = startRedis(ctx, filepath.Join(s.dbDir, "redis"))
	s.own(server)
	s.ends = append(s.ends, endApart)
	return err
}

// killer is a server.
type killer interface{ Kill() }

// own has close end a server, if there is one.
func (s *stage) own(server killer) {
	if server != nil {
		s.servers = append(s.servers, server)
	}
}

// subscription is that of a consumer to a topic.
func subscription(consumer, topic string) string { return consumer + "." + topic }

// subscribe makes a subscription without a retry policy: Google's emulator puts what was given back
// under one aside until its time, and after a few kills leaves it there for minutes.
func subscribe(ctx context.Context, client *pubsub.Client, consumer, topic string, ordered bool) error {
	_, err := client.SubscriptionAdminClient.CreateSubscription(ctx, &pb.Subscription{
		Name:                  local.SubscriptionName(project, subscription(consumer, topic)),
		Topic:                 local.TopicName(project, topic),
		AckDeadlineSeconds:    int32(ackDeadline / time.Second),
		EnableMessageOrdering: ordered,
	})
	if err != nil {
		return fmt.Errorf("subscribe %s to %s: %w", consumer, topic, err)
	}
	return nil
}

// launch starts a process of the cloud's, and returns once it has said what tells that it works.
func (s *stage) launch(ctx context.Context, spec child.Spec, says string) (*child.Process, error) {
	log, err := os.Create(filepath.Join(s.dir, spec.Name+".log"))
	if err != nil {
		return nil, err
	}
	works := rig.NewAwaited(says)
	spec.Stdout, spec.Stderr = io.MultiWriter(log, works), log
	if says == relayServes {
		spec.Stdout, spec.Stderr = log, io.MultiWriter(log, works)
	}
	spec.Env = append(spec.Env, append(s.cloud.Env(), "GOOGLE_CLOUD_PROJECT="+project)...)
	child, err := child.Start(spec)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go func() { // ends with the child
		<-child.Exited()
		_ = log.Close() // what was lost of a log is no failure of the run
	}()
	select {
	case <-works.Seen():
		return child, nil
	case <-child.Exited():
		return child, child.Ended()
	case <-time.After(servingWithin):
		return child, fmt.Errorf("%s does not work in time", spec.Name)
	case <-ctx.Done():
		return child, ctx.Err()
	}
}

// relayServes is in a line that a relay logs once it serves.
const relayServes = `"message":"serving"`

func (s *stage) relayAt(path string) func(context.Context, int) (*child.Process, error) {
	return func(ctx context.Context, number int) (*child.Process, error) {
		port, err := freeport.One()
		if err != nil {
			return nil, err
		}
		return s.launch(ctx, child.Spec{
			Name: "relay-" + strconv.Itoa(number), Path: path,
			Args: []string{
				"serve", "--catalog", s.opts.catalog, "--lease-term", "3s",
				"--canary-interval", "4s", "--silence-bound", "2s", "--sweep-interval", "6s", "--sweep-age", "6s",
			},
			Env: []string{"AUTH_MODE=dev", "HOST=127.0.0.1", "PORT=" + port},
		}, relayServes)
	}
}

func (s *stage) consumerOf(e end, topics map[string][]string) func(context.Context, int) (*child.Process, error) {
	mine := map[string][]string{}
	for name, of := range s.dealt {
		if of == e {
			mine[name] = topics[name]
		}
	}
	return func(ctx context.Context, number int) (*child.Process, error) {
		name := fmt.Sprintf("%s-%d", e, number)
		own, err := os.Executable()
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(task{
			Catalog: s.opts.catalog, End: e, Consumers: mine, Postgres: s.postgres, Redis: s.redis, Log: filepath.Join(s.dir, name+".journal"), Grace: s.opts.grace(),
		})
		if err != nil {
			return nil, err
		}
		return s.launch(ctx, child.Spec{Name: name, Path: own, Env: []string{taskVar + "=" + string(text)}}, consuming)
	}
}

// journals are those of all consumer processes that were.
func (s *stage) journals() []string {
	paths, _ := filepath.Glob(filepath.Join(s.dir, "*.journal"))
	return paths
}

// close ends everything, in the order in which it leans on each other.
func (s *stage) close() error {
	var errs []error
	for _, e := range slices.Sorted(maps.Keys(s.consumers)) {
		errs = append(errs, s.consumers[e].Stop())
	}
	if s.relays != nil {
		errs = append(errs, s.relays.Stop())
	}
	if s.clients != nil {
		errs = append(errs, s.clients.Close())
	}
	if s.cloud != nil {
		errs = append(errs, s.cloud.Stop())
	}
	if s.pool != nil {
		s.pool.Close()
	}
	for _, server := range s.servers {
		server.Kill() // whatever it holds is of no more use
	}
	if s.dbDir != "" {
		errs = append(errs, os.RemoveAll(s.dbDir))
	}
	return errors.Join(errs...)
}

// say reports progress.
func (s *stage) say(format string, args ...any) {
	fmt.Fprintf(s.progress, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}
