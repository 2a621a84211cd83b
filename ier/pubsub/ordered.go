package pubsub

import (
	"context"
	"errors"
	"fmt"

	gpubsub "cloud.google.com/go/pubsub/v2"

	"outboxrelay/contracts"
)

// OrderedPublisher publishes single messages to one topic, each awaited, in the
// order of their key: for what follows from a delivery, as token refresh
// signals do.
type OrderedPublisher struct {
	topic   string
	metrics *topicMetrics
	p       *publisher
}

// NewOrderedPublisher returns the publisher of topic, an ID without its
// project. It contacts nobody: a missing topic shows on PublishOrdered.
func NewOrderedPublisher(client *gpubsub.Client, topic string, s Settings) (*OrderedPublisher, error) {
	if topic == "" {
		return nil, errors.New("create ordered publisher: no topic")
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("create ordered publisher of topic %s: %w", topic, err)
	}
	s = s.withDefaults()
	return &OrderedPublisher{topic: topic, metrics: s.Metrics.topic(topic), p: newPublisher(client, topic, s)}, nil
}

// PublishOrdered returns once the message was acknowledged, or with an error that
// contracts.KindOf and contracts.CodeOf read. Messages of one key go one after
// another. When ctx ends after the message was sent, it still waits for the
// answer, Settings.Timeout at the longest.
func (o *OrderedPublisher) PublishOrdered(ctx context.Context, key string, data []byte, attributes map[string]string) error {
	m := &contracts.Message{Data: data, Attributes: attributes, OrderingKey: key}
	errs := o.p.deliver(ctx, []*contracts.Message{m})
	o.metrics.count(errs)
	if err := errs[0]; err != nil {
		return fmt.Errorf("publish to topic %s: %w", o.topic, err)
	}
	return nil
}

// Close waits for what is under way, at most until ctx ends; what is still out
// then ends with the client. Later calls of PublishOrdered fail.
func (o *OrderedPublisher) Close(ctx context.Context) error {
	if err := stopWithin(ctx, o.p.stop); err != nil {
		return fmt.Errorf("close ordered publisher of topic %s: %w", o.topic, err)
	}
	return nil
}
