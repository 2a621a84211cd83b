package publisher

import (
	"context"
	"testing"

	gpubsub "cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	"outboxrelay/deploy/local/pubsub"
	ierpubsub "outboxrelay/ier/pubsub"
	"outboxrelay/relay/postgres"
)

// On the embedded Pub/Sub, by Google's client, through faults of the service: what arrives at a subscription is
// every event, in the order of its aggregate.
func TestOnPubSub(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	server, err := pubsub.Open(pubsub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	const project = "shop"
	if err := server.CreateTopics(project, []string{DefaultTopic}); err != nil {
		t.Fatal(err)
	}
	addr, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	clients, err := ierpubsub.NewClients(t.Context(), project, local.ClientOptions(addr)...)
	if err != nil {
		t.Fatal(err)
	}
	defer clients.Close()
	subscription := pubsub.SubscriptionName(project, "reader")
	if _, err := clients.Background().SubscriptionAdminClient.CreateSubscription(t.Context(), &pubsubpb.Subscription{
		Name: subscription, Topic: pubsub.TopicName(project, DefaultTopic), EnableMessageOrdering: true,
	}); err != nil {
		t.Fatal(err)
	}
	target, err := ierpubsub.NewTarget(clients, DefaultTopic, ierpubsub.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := target.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	for _, fault := range []pubsub.Fault{
		{Code: codes.Unavailable, Share: 0.2, Times: 30, Seed: 1},
		{Code: codes.Unavailable, Share: 0.2, Times: 10, Seed: 2, LoseResponse: true},
	} {
		if _, err := server.Faults().Add(fault); err != nil {
			t.Fatal(err)
		}
	}
	list := events(10, 20)
	f.append(list...)
	o := f.options()
	o.Target = target
	_, stop := f.start(o)
	f.awaitPublished()
	stop()
	if n := f.count("attempt_count <> 0"); n != 0 {
		t.Errorf("%d rows have an attempt", n)
	}
	f.pull(clients.Background(), subscription, len(list))
	f.judge(list)
}

// pull reads into the shelf until so many events have come.
func (f *fixture) pull(client *gpubsub.Client, subscription string, events int) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	seen := map[string]bool{}
	for len(seen) < events {
		answer, err := client.SubscriptionAdminClient.Pull(ctx, &pubsubpb.PullRequest{Subscription: subscription, MaxMessages: 100})
		if err != nil {
			f.Fatalf("%d of %d events came: %v", len(seen), events, err)
		}
		var acks []string
		for _, m := range answer.ReceivedMessages {
			acks = append(acks, m.AckId)
			seen[m.Message.Attributes[postgres.AttrEventID]] = true
			f.shelf.take(m.Message)
		}
		if len(acks) > 0 {
			if err := client.SubscriptionAdminClient.Acknowledge(ctx, &pubsubpb.AcknowledgeRequest{Subscription: subscription, AckIds: acks}); err != nil {
				f.Fatal(err)
			}
		}
	}
}

// take puts down a message that came by itself.
func (s *shelf) take(m *pubsubpb.PubsubMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, &contracts.Message{Data: m.Data, Attributes: m.Attributes, OrderingKey: m.OrderingKey})
}
