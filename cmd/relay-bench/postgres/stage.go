package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	gpubsub "cloud.google.com/go/pubsub/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // for Goose
	"golang.org/x/sync/errgroup"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/deploy/local"
	"outboxrelay/deploy/local/pubsub"
	"outboxrelay/relay/postgres/migrations"
)

const (
	project      = "relay-bench"
	topic        = "pf-domain-events"
	subscription = "bench"
	// batch are the rows of a round of the publisher, its default, and of the floor.
	batch = 50
)

// stage is what one measurement of one side happens on.
type stage struct {
	bench    *bench
	who      table.Side
	url      string // of the database
	pool     *pgxpool.Pool
	messages *pubsub.Server
	addr     string // of messages
	client   *gpubsub.Client
	got      *arrivals
}

// onStage runs f on a fresh stage for a side, which it takes down again.
func (b *bench) onStage(ctx context.Context, who table.Side, f func(context.Context, *stage) (table.Readings, error)) (read table.Readings, err error) {
	s := &stage{bench: b, who: who, got: newArrivals()}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open stage: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	reading, ctx := errgroup.WithContext(ctx)
	reading.Go(func() error { return pubsub.Receive(ctx, s.client, subscription, s.got.take) })
	read, err = f(ctx, s)
	stop()
	return read, errors.Join(err, reading.Wait())
}

func (s *stage) open(ctx context.Context) (err error) {
	if err := s.openDatabase(ctx); err != nil {
		return err
	}
	if s.messages, err = pubsub.Open(pubsub.Options{}); err != nil {
		return err
	}
	if err := s.messages.CreateTopics(project, []string{topic}); err != nil {
		return err
	}
	if s.addr, err = s.messages.Start("127.0.0.1:0"); err != nil {
		return err
	}
	if s.client, err = gpubsub.NewClient(ctx, project, local.ClientOptions(s.addr)...); err != nil {
		return err
	}
	return pubsub.Subscribe(ctx, s.client, topic, subscription)
}

// openDatabase makes a database with the table of the side.
func (s *stage) openDatabase(ctx context.Context) error {
	s.bench.databases++
	name := "bench_" + strconv.Itoa(s.bench.databases)
	conn, err := pgx.Connect(ctx, s.bench.server.URL())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return err
	}
	s.url = s.bench.server.DatabaseURL(name)
	if s.pool, err = pgxpool.New(ctx, s.url); err != nil {
		return err
	}
	if s.who == sideWatermill {
		return initWatermill(s.pool)
	}
	return s.migrate(ctx)
}

func (s *stage) migrate(ctx context.Context) error {
	db, err := sql.Open("pgx", s.url)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is under way
	provider, err := migrations.New(db)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

func (s *stage) close() error {
	var errs []error
	if s.client != nil {
		errs = append(errs, s.client.Close())
	}
	if s.messages != nil {
		errs = append(errs, s.messages.Close())
	}
	if s.pool != nil {
		s.pool.Close()
	}
	return errors.Join(errs...)
}
