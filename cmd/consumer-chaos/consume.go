package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
	inboxfirestore "outboxrelay/contracts/inbox/firestore"
	inboxpostgres "outboxrelay/contracts/inbox/postgres"
	inboxredis "outboxrelay/contracts/inbox/redis"
	"outboxrelay/dlq/consumers"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// taskVar makes this program a consumer: its value is a task as JSON.
const taskVar = "CONSUMER_CHAOS_TASK"

// task is what one consumer process has to do.
type task struct {
	Catalog   string
	End       end
	Consumers map[string][]string // topics by consumer
	Postgres  string              // connection string
	Redis     string              // URL; "": the inbox of endApart is in Firestore
	Log       string              // path of its journal
	Grace     time.Duration       // see inbox.Options
}

const (
	// underWay is how many messages a process handles at once, and so how many effects one kill
	// can repeat at most.
	underWay = 16
	// handlerTimeout is short, so that the claim of a killed process soon ends.
	handlerTimeout = 4 * time.Second
	// ackDeadline is how long Pub/Sub waits for a consumer that was killed.
	ackDeadline = 10 * time.Second
	// work is what a handler takes before its effect, and again after it, so that kills fall
	// between effect and mark.
	work = 40 * time.Millisecond
)

// consumer is a consumer process.
type consumer struct {
	task
	catalog *contracts.Catalog
	db      *dlqfirestore.Client
	client  *pubsub.Client
	pool    *pgxpool.Pool
	journal *journal
	slots   chan struct{} // one for each message under way
}

// consume is the program of a consumer process. It runs until ctx ends.
func consume(ctx context.Context, text string, stdout io.Writer) (err error) {
	c := &consumer{slots: make(chan struct{}, underWay)}
	if err := json.Unmarshal([]byte(text), &c.task); err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	if c.catalog, err = contracts.LoadCatalog(c.Catalog); err != nil {
		return err
	}
	if c.journal, err = openJournal(c.Log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.journal.close()) }()
	if c.db, err = dlqfirestore.Connect(ctx, project); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.db.Close()) }()
	if c.client, err = pubsub.NewClient(ctx, project); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.client.Close()) }()
	receivers, err := c.receivers(ctx)
	if err != nil {
		return err
	}
	if c.pool != nil {
		defer c.pool.Close()
	}
	fmt.Fprintln(stdout, consuming)
	g, ctx := errgroup.WithContext(ctx)
	for name, topics := range c.Consumers {
		for _, topic := range topics {
			g.Go(func() error { return c.receive(ctx, name, topic, receivers[name]) })
		}
	}
	return g.Wait()
}

// consuming is what a consumer says once it is about to receive.
const consuming = "consuming"

type receiver = func(context.Context, *pubsub.Message)

// receivers makes the receive function of each consumer.
func (c *consumer) receivers(ctx context.Context) (map[string]receiver, error) {
	options := inbox.Options{
		Catalog: c.catalog, DeadLetters: consumers.New(dlqfirestore.New(c.db), c.catalog), Log: slog.New(slog.NewJSONHandler(os.Stderr, nil)),
		Timeout: handlerTimeout, Grace: c.Grace, Hold: time.Second,
		Delays: []time.Duration{200 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second},
	}
	out := map[string]receiver{}
	switch c.End {
	case endFirestore:
		store := inboxfirestore.New(c.db.Client)
		for name := range c.Consumers {
			out[name] = inbox.HandleIn(inbox.New(store, name, options), store, c.inFirestore(name))
		}
	case endPostgres:
		var err error
		if c.pool, err = pgxpool.New(ctx, c.Postgres); err != nil {
			return nil, err
		}
		store := inboxpostgres.New(c.pool)
		for name := range c.Consumers {
			out[name] = inbox.HandleIn(inbox.New(store, name, options), store, c.inPostgres(name))
		}
	case endApart:
		var store inbox.Store = inboxfirestore.New(c.db.Client)
		if c.Redis != "" {
			o, err := goredis.ParseURL(c.Redis)
			if err != nil {
				return nil, err
			}
			store = inboxredis.New(goredis.NewClient(o)) // closed with the process
		}
		for name := range c.Consumers {
			out[name] = inbox.New(store, name, options).Handle(c.inFile(name))
		}
	}
	return out, nil
}

// receive hands the messages of a subscription to f until ctx ends.
func (c *consumer) receive(ctx context.Context, name, topic string, f receiver) error {
	subscriber := c.client.Subscriber(subscription(name, topic))
	subscriber.ReceiveSettings.MaxOutstandingMessages = underWay
	subscriber.ReceiveSettings.MinDurationPerAckExtension = ackDeadline
	subscriber.ReceiveSettings.MaxDurationPerAckExtension = ackDeadline
	for ctx.Err() == nil {
		err := subscriber.Receive(ctx, func(ctx context.Context, m *pubsub.Message) {
			c.slots <- struct{}{}
			defer func() { <-c.slots }()
			if err := c.journal.arrived(arrival{name, topic, m.ID, m.Attributes[contracts.AttrEventID]}); err != nil {
				slog.Error("note arrival", "error", err)
			}
			f(context.WithValue(ctx, arrivedKey{}, time.Now().UnixNano()), m)
		})
		if err != nil && ctx.Err() == nil { // the emulators cancel a stream now and then
			slog.Warn("receive", "error", err)
			time.Sleep(receiveAgain)
		}
	}
	return nil
}

const receiveAgain = 100 * time.Millisecond

// arrivedKey is in the context of a message when it came, in Unix nanoseconds.
type arrivedKey struct{}

// effectsCollection holds a document for each time that an effect happened.
const effectsCollection = "effects"

func (c *consumer) inFirestore(name string) inbox.HandlerIn[*firestore.Transaction] {
	return func(ctx context.Context, tx *firestore.Transaction, e *inbox.Event) error {
		return c.working(ctx, name, e, func() error { return tx.Create(c.db.Collection(effectsCollection).NewDoc(), effectOf(name, e)) })
	}
}

func (c *consumer) inPostgres(name string) inbox.HandlerIn[pgx.Tx] {
	return func(ctx context.Context, tx pgx.Tx, event *inbox.Event) error {
		return c.working(ctx, name, event, func() error {
			e := effectOf(name, event)
			_, err := tx.Exec(ctx, `INSERT INTO effects (consumer, event_id, aggregate, version, at) VALUES ($1, $2, $3, $4, $5)`,
				e.Consumer, e.EventID, e.Aggregate, e.Version, e.At)
			return err
		})
	}
}

func (c *consumer) inFile(name string) inbox.Handler {
	return func(ctx context.Context, e *inbox.Event) error {
		return c.working(ctx, name, e, func() error { return c.journal.happened(effectOf(name, e)) })
	}
}

// working has an effect happen amid some work, and notes when that begins.
func (c *consumer) working(ctx context.Context, name string, e *inbox.Event, happen func() error) error {
	arrived, _ := ctx.Value(arrivedKey{}).(int64)
	err := c.journal.began(beginning{
		Consumer: name, EventID: e.EventID, Aggregate: e.AggregateID, Version: e.AggregateVersion, Arrived: arrived, At: time.Now().UnixNano(),
	})
	if err != nil {
		return err
	}
	time.Sleep(work)
	err = happen()
	time.Sleep(work)
	return err
}

func effectOf(name string, e *inbox.Event) effect {
	return effect{Consumer: name, EventID: e.EventID, Aggregate: e.AggregateID, Version: e.AggregateVersion, At: time.Now().UnixNano()}
}
