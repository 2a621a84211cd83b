package sample

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"github.com/google/uuid"

	"outboxrelay/contracts/inbox"
	"outboxrelay/relay/postgres"
)

// Consumer acts on the events of a subscription, each once: its inbox remembers what was handled.
type Consumer struct {
	Client       *pubsub.Client
	Subscription string
	Store        inbox.Store
	Retention    time.Duration // how long an event is remembered
	Ledger       *Ledger
	Log          *slog.Logger
}

// streams of a subscription: the embedded Pub/Sub hands out a hundred messages a second on each.
const streams = 10

// Run consumes until ctx ends, which is no error.
func (c *Consumer) Run(ctx context.Context) error {
	box := inbox.New(c.Store, "sample", inbox.Options{
		Decode: postgres.Decode, Retention: c.Retention, Log: c.Log, Delays: []time.Duration{100 * time.Millisecond, time.Second},
	})
	subscriber := c.Client.Subscriber(c.Subscription)
	subscriber.ReceiveSettings.NumGoroutines = streams
	if err := box.Receive(ctx, subscriber, box.Handle(c.handle)); err != nil && ctx.Err() == nil {
		return fmt.Errorf("consume samples: %w", err)
	}
	return nil
}

// handle is the effect: it is noted.
func (c *Consumer) handle(_ context.Context, e *inbox.Event) error {
	id, err := uuid.Parse(e.EventID)
	if err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	aggregate, err := uuid.Parse(e.AggregateID)
	if err != nil {
		return fmt.Errorf("read event %s: %w", id, err)
	}
	c.Ledger.happened(aggregate, id)
	return nil
}
