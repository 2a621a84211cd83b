package pubsub

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	pullMessages = 1000                   // of one pull, Pub/Sub's maximum
	pullIdleMin  = 5 * time.Millisecond   // pause after a first empty pull
	pullIdleMax  = 250 * time.Millisecond // pause after many
	ackDeadline  = 60                     // seconds; a slow debugger must not cause redeliveries
)

// Subscribe makes an ordered subscription to topic, both given by their IDs. One
// that exists stays as it is.
func Subscribe(ctx context.Context, client *pubsub.Client, topic, subscription string) error {
	_, err := client.SubscriptionAdminClient.CreateSubscription(ctx, &pb.Subscription{
		Name:                  SubscriptionName(client.Project(), subscription),
		Topic:                 TopicName(client.Project(), topic),
		AckDeadlineSeconds:    ackDeadline,
		EnableMessageOrdering: true,
	})
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return fmt.Errorf("subscribe to %s: %w", topic, err)
	}
	return nil
}

// Receive gives handle the messages of a subscription, in the order in which
// they were published within each pull, and acknowledges them when it returns.
// It pulls by single calls, which the fake answers some hundred times faster
// than it streams. It returns nil when ctx ends, and else why it stopped.
func Receive(ctx context.Context, client *pubsub.Client, subscription string, handle func([]*pb.ReceivedMessage)) error {
	name := SubscriptionName(client.Project(), subscription)
	for idle := pullIdleMin; ; {
		messages, err := pull(ctx, client, name)
		if err == nil && len(messages) > 0 {
			handle(messages)
			err = acknowledge(ctx, client, name, messages)
			idle = pullIdleMin
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // that is how it is told to stop
		case err != nil && status.Code(err) != codes.Unavailable:
			return fmt.Errorf("receive from %s: %w", subscription, err)
		case err == nil && len(messages) > 0:
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(idle):
		}
		idle = min(2*idle, pullIdleMax)
	}
}

func pull(ctx context.Context, client *pubsub.Client, subscription string) ([]*pb.ReceivedMessage, error) {
	resp, err := client.SubscriptionAdminClient.Pull(ctx, &pb.PullRequest{
		Subscription: subscription,
		MaxMessages:  pullMessages,
		//nolint:staticcheck // Deprecated for Pub/Sub itself, where it costs throughput. The fake sleeps half a second without it.
		ReturnImmediately: true,
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(resp.ReceivedMessages, byPublish)
	return resp.ReceivedMessages, nil
}

// byPublish orders messages as they were published. Google's emulator hands out
// what shares a millisecond in no order, and its clock may step back; but it
// counts IDs up, as the fake does.
func byPublish(a, b *pb.ReceivedMessage) int {
	return cmp.Or(
		cmp.Compare(len(a.Message.MessageId), len(b.Message.MessageId)),
		cmp.Compare(a.Message.MessageId, b.Message.MessageId),
	)
}

func acknowledge(ctx context.Context, client *pubsub.Client, subscription string, messages []*pb.ReceivedMessage) error {
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.AckId
	}
	return client.SubscriptionAdminClient.Acknowledge(ctx, &pb.AcknowledgeRequest{Subscription: subscription, AckIds: ids})
}
