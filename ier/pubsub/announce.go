package pubsub

import (
	"context"
	"errors"
	"fmt"

	gpubsub "cloud.google.com/go/pubsub/v2"

	"outboxrelay/contracts"
)

// Publisher publishes single messages to one topic, for what is no delivery:
// rare, without order, and awaited one by one, as alerts are.
type Publisher struct {
	topic     string
	publisher *publisher
}

// NewPublisher returns the publisher of topic, an ID without its project. Of s
// only Timeout and the bounds of what is outstanding count. It contacts nobody:
// a missing topic shows on Publish.
func NewPublisher(client *gpubsub.Client, topic string, s Settings) (*Publisher, error) {
	if topic == "" {
		return nil, errors.New("create publisher: no topic")
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("create publisher of topic %s: %w", topic, err)
	}
	return &Publisher{topic: topic, publisher: newPublisher(client, topic, s.withDefaults())}, nil
}

// Publish returns once the message was acknowledged, or with an error that
// contracts.KindOf and contracts.CodeOf read. When ctx ends first the message
// may still be published.
func (p *Publisher) Publish(ctx context.Context, data []byte, attributes map[string]string) error {
	m := &contracts.Message{Data: data, Attributes: attributes}
	if err := p.publisher.send(ctx, ctx, []*contracts.Message{m}, sizeOf(m)); err != nil {
		return classify(fmt.Errorf("publish to topic %s: %w", p.topic, err))
	}
	return nil
}

// Close waits for what is under way, at most until ctx ends; what is still out
// then ends with the client. Later calls of Publish fail.
func (p *Publisher) Close(ctx context.Context) error {
	if err := stopWithin(ctx, p.publisher.stop); err != nil {
		return fmt.Errorf("close publisher of topic %s: %w", p.topic, err)
	}
	return nil
}
