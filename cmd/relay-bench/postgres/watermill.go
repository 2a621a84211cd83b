package postgres

import (
	"context"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	outbox "outboxrelay/relay/postgres"
)

const (
	forwarderTopic = "outbox" // in Watermill's words: its table is watermill_outbox
	keyAggregate   = "aggregate_id"
	// watermillPoll is a hundredth of its default, as it knows no notifications: its latency is not to be
	// one of ours.
	watermillPoll = 10 * time.Millisecond
)

func watermillSubscriber(pool *pgxpool.Pool) (*wsql.Subscriber, error) {
	return wsql.NewSubscriber(wsql.BeginnerFromPgx(pool), wsql.SubscriberConfig{
		SchemaAdapter: wsql.DefaultPostgreSQLSchema{}, OffsetsAdapter: wsql.DefaultPostgreSQLOffsetsAdapter{},
		InitializeSchema: true, PollInterval: watermillPoll,
	}, nil)
}

// initWatermill makes its tables.
func initWatermill(pool *pgxpool.Pool) error {
	subscriber, err := watermillSubscriber(pool)
	if err != nil {
		return err
	}
	return subscriber.SubscribeInitialize(forwarderTopic)
}

// appendWatermill appends events to its table, as its forwarder's guide has it.
func appendWatermill(_ context.Context, tx pgx.Tx, events []outbox.Event) error {
	inner, err := wsql.NewPublisher(wsql.TxFromPgx(tx), wsql.PublisherConfig{SchemaAdapter: wsql.DefaultPostgreSQLSchema{}}, nil)
	if err != nil {
		return err
	}
	messages := make([]*message.Message, len(events))
	for i, e := range events {
		payload, err := envelope(e)
		if err != nil {
			return err
		}
		messages[i] = message.NewMessage(e.ID.String(), payload)
		messages[i].Metadata.Set(keyAggregate, e.AggregateID)
	}
	return forwarder.NewPublisher(inner, forwarder.PublisherConfig{ForwarderTopic: forwarderTopic}).Publish(topic, messages...)
}

// runWatermill is its forwarder, which keeps the order of the whole table.
func runWatermill(ctx context.Context, pool *pgxpool.Pool, to *pubsub.Publisher) error {
	subscriber, err := watermillSubscriber(pool)
	if err != nil {
		return err
	}
	f, err := forwarder.NewForwarder(subscriber, sink{to}, watermill.NopLogger{}, forwarder.Config{ForwarderTopic: forwarderTopic})
	if err != nil {
		return err
	}
	return f.Run(ctx)
}

// sink is a publisher of Watermill's. Its own for Pub/Sub is left out: it is of the client's first version.
type sink struct{ to *pubsub.Publisher }

// Publish implements message.Publisher.
func (s sink) Publish(_ string, messages ...*message.Message) error {
	for _, m := range messages {
		ack := s.to.Publish(m.Context(), &pubsub.Message{Data: m.Payload, OrderingKey: m.Metadata.Get(keyAggregate), Attributes: m.Metadata})
		if _, err := ack.Get(m.Context()); err != nil {
			return err
		}
	}
	return nil
}

// Close implements message.Publisher.
func (sink) Close() error { return nil }
