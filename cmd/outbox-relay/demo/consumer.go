package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	local "outboxrelay/deploy/local/pubsub"
)

// Consumers read every topic of a catalog's targets, as the systems behind the
// targets would, and the relay's lag samples. The consumers that the catalog names
// have subscriptions of their own. All of it goes into the ledger.
type Consumers struct {
	Client  *pubsub.Client
	Catalog *contracts.Catalog
	Ledger  *Ledger
}

// Subscribe makes the subscriptions. It comes before the first append, as a
// subscription gets only what is published after it.
func (c *Consumers) Subscribe(ctx context.Context) error {
	for _, topic := range c.topics() {
		if err := local.Subscribe(ctx, c.Client, topic, subscription(topic)); err != nil {
			return err
		}
	}
	for _, a := range audience(c.Catalog) {
		if err := local.Subscribe(ctx, c.Client, a.topic, a.subscription()); err != nil {
			return err
		}
	}
	return nil
}

// Run consumes until ctx ends, which is no error.
func (c *Consumers) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, topic := range c.topics() {
		handle := c.arrive
		if topic == contracts.TopicMetrics {
			handle = c.sample
		}
		g.Go(func() error { return c.receive(ctx, subscription(topic), handle) })
	}
	for _, a := range audience(c.Catalog) {
		g.Go(func() error {
			return c.receive(ctx, a.subscription(), func(m *pb.PubsubMessage) { c.attend(a, m) })
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("consume samples: %w", err)
	}
	return nil
}

func (c *Consumers) receive(ctx context.Context, subscription string, handle func(*pb.PubsubMessage)) error {
	return local.Receive(ctx, c.Client, subscription, func(messages []*pb.ReceivedMessage) {
		for _, m := range messages {
			handle(m.Message)
		}
	})
}

func subscription(topic string) string { return "sample-" + topic }

// topics are those of the targets, each once, and that of the lag samples.
func (c *Consumers) topics() []string {
	topics := []string{contracts.TopicMetrics}
	have := map[string]bool{}
	for _, target := range c.Catalog.Targets {
		if target.Kind == contracts.KindPubSub && !have[target.Topic] {
			have[target.Topic] = true
			topics = append(topics, target.Topic)
		}
	}
	return topics
}

func (c *Consumers) arrive(m *pb.PubsubMessage) {
	a := arrivalOf(m.Attributes)
	a.Message = m.MessageId
	c.Ledger.Arrive(a)
}

// arrivalOf reads the attributes of a message.
func arrivalOf(attributes map[string]string) Arrival {
	// A version that is no number becomes 0, which shows as out of order.
	version, _ := strconv.ParseInt(attributes[contracts.AttrAggregateVersion], 10, 64)
	return Arrival{
		Target:    attributes[contracts.AttrTarget],
		Outbox:    attributes[contracts.AttrOutbox],
		Lane:      contracts.Lane(attributes[contracts.AttrLane]),
		Aggregate: attributes[contracts.AttrAggregateID],
		Version:   version,
		Key:       attributes[contracts.AttrIdempotencyKey],
		Replay:    attributes[contracts.AttrReplay] != "",
	}
}

// sample books the lag samples of one message, which holds one to a line.
func (c *Consumers) sample(m *pb.PubsubMessage) {
	for line := range bytes.Lines(m.Data) {
		var s struct {
			Lane    contracts.Lane `json:"lane"`
			Outcome string         `json:"outcome"`
			LagMs   int64          `json:"lagMs"`
		}
		if err := json.Unmarshal(line, &s); err != nil || s.Outcome != "acked" {
			continue
		}
		c.Ledger.Lag(s.Lane, time.Duration(s.LagMs)*time.Millisecond)
	}
}
