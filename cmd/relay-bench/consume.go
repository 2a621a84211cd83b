package main

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	local "outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/rig"
)

const (
	pullMessages = 1000 // of one pull, Pub/Sub's maximum
	ackSeconds   = 600  // Pub/Sub's maximum: nothing is to come twice
	// arriveWithin is how long the last messages may take after their records
	// were marked as delivered.
	arriveWithin = 30 * time.Second
	// emptyPulls of every subscription in a row show that nothing is left: one
	// that returns at once may miss what is there.
	emptyPulls = 3
)

// consumer reads subscriptions into a book. Messages are dated by their publish,
// so it does not matter when it reads them.
type consumer struct {
	stage  *stage
	book   *book
	topics []string
	ledger *ledger // gets every message too; nil: none
}

// subscribe comes before what is to be measured is appended.
func (s *stage) subscribe(ctx context.Context, b *book, topics []string) (*consumer, error) {
	c := &consumer{stage: s, book: b, topics: topics}
	for _, topic := range topics {
		_, err := s.clients.Messages.SubscriptionAdminClient.CreateSubscription(ctx, &pubsubpb.Subscription{
			Name:               c.subscription(topic),
			Topic:              local.TopicName(project, topic),
			AckDeadlineSeconds: ackSeconds,
		})
		if err != nil {
			return nil, fmt.Errorf("subscribe to %s: %w", topic, err)
		}
	}
	return c, nil
}

func (c *consumer) subscription(topic string) string {
	return local.SubscriptionName(project, "bench-"+topic)
}

// run reads until ctx ends, which is no error. A pull that is under way then is not cut: what it
// brought would not come again before its deadline.
func (c *consumer) run(ctx context.Context) error {
	g, work := errgroup.WithContext(ctx)
	for _, topic := range c.topics {
		g.Go(func() error {
			for rig.Sleep(work, c.stage.cloud.PullEvery) {
				pulling, cancel := context.WithTimeout(context.WithoutCancel(work), arriveWithin)
				_, err := c.pull(pulling, topic)
				cancel()
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// collect reads until every record of the book is complete. Those that are not
// within arriveWithin are an error: the side has marked what it did not publish.
func (c *consumer) collect(ctx context.Context) error {
	for began := time.Now(); ; {
		read := 0
		for _, topic := range c.topics {
			n, err := c.pull(ctx, topic)
			if err != nil {
				return err
			}
			read += n
		}
		missing := c.book.outstanding()
		switch {
		case missing == 0:
			return nil
		case read > 0:
			continue
		case time.Since(began) > arriveWithin:
			return fmt.Errorf("collect messages: %d delivered records lack some", missing)
		}
		if !rig.Sleep(ctx, c.stage.cloud.PullEvery) {
			return ctx.Err()
		}
	}
}

// exhaust reads what may be left once every record is complete: messages that
// are there twice. Nothing may be published any more.
func (c *consumer) exhaust(ctx context.Context) error {
	for empty := 0; empty < emptyPulls; {
		if !rig.Sleep(ctx, c.stage.cloud.PullEvery) {
			return ctx.Err()
		}
		empty++
		for _, topic := range c.topics {
			n, err := c.pull(ctx, topic)
			if err != nil {
				return err
			}
			if n > 0 {
				empty = 0
			}
		}
	}
	return nil
}

func (c *consumer) pull(ctx context.Context, topic string) (int, error) {
	admin := c.stage.clients.Messages.SubscriptionAdminClient
	resp, err := admin.Pull(ctx, &pubsubpb.PullRequest{
		Subscription: c.subscription(topic),
		MaxMessages:  pullMessages,
		//nolint:staticcheck // deprecated for Pub/Sub itself; emulators wait without it
		ReturnImmediately: true,
	})
	if err != nil {
		return 0, fmt.Errorf("pull from %s: %w", topic, err)
	}
	if len(resp.ReceivedMessages) == 0 {
		return 0, nil
	}
	acks := make([]string, len(resp.ReceivedMessages))
	for i, m := range resp.ReceivedMessages {
		acks[i] = m.AckId
		if c.ledger != nil {
			c.ledger.received(topic, m.Message)
		}
		c.book.arrived(m.Message.Attributes[contracts.AttrIdempotencyKey], topic, m.Message.PublishTime.AsTime())
	}
	err = admin.Acknowledge(ctx, &pubsubpb.AcknowledgeRequest{Subscription: c.subscription(topic), AckIds: acks})
	if err != nil {
		return 0, fmt.Errorf("acknowledge to %s: %w", topic, err)
	}
	return len(acks), nil
}

// topicsOf are the topics of the lanes' records, each once.
func (s *stage) topicsOf(lanes ...contracts.Lane) []string {
	var topics []string
	have := map[string]bool{}
	for _, outbox := range s.catalog.Outboxes {
		for _, event := range outbox.Events {
			for _, lane := range lanes {
				if event.Lane != lane {
					continue
				}
				for _, target := range event.Targets {
					topic := s.catalog.Targets[target].Topic
					if !have[topic] {
						have[topic] = true
						topics = append(topics, topic)
					}
				}
			}
		}
	}
	return topics
}
