package main

import (
	"context"
	"testing"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/deploy/local/pubsub"
	ierpubsub "outboxrelay/ier/pubsub"
)

// consume makes topics, and subscribes to those that are wanted, by a name of the
// test's own. Until the test ends it shows the attributes of each message, from
// several goroutines.
func consume(t *testing.T, at gcp.Place, by string, topics []string, wanted func(topic string) bool, see func(topic string, attributes map[string]string)) {
	t.Helper()
	client, err := at.DialPubSub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var consuming []func()
	t.Cleanup(func() {
		for _, stop := range consuming {
			stop()
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := ierpubsub.EnsureTopics(t.Context(), client, topics); err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics {
		if !wanted(topic) {
			continue
		}
		subscription := by + "-" + topic
		if err := pubsub.Subscribe(t.Context(), client, topic, subscription); err != nil {
			t.Fatal(err)
		}
		consuming = append(consuming, beside(t, func(ctx context.Context) error {
			return pubsub.Receive(ctx, client, subscription, func(messages []*pb.ReceivedMessage) {
				for _, m := range messages {
					see(topic, m.Message.Attributes)
				}
			})
		}))
	}
}
