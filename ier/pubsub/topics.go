package pubsub

import (
	"context"
	"fmt"
	"slices"
	"sync"

	gpubsub "cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// topicCalls are made at the same time at most: topics are few, and their
// quota is small.
const topicCalls = 8

// MissingTopics returns those of topics (IDs without the project) that do not
// exist, sorted.
func MissingTopics(ctx context.Context, client *gpubsub.Client, topics []string) ([]string, error) {
	var (
		mu      sync.Mutex
		missing []string
	)
	err := eachTopic(ctx, topics, func(ctx context.Context, topic string) error {
		_, err := client.TopicAdminClient.GetTopic(ctx, &pubsubpb.GetTopicRequest{Topic: topicName(client, topic)})
		switch status.Code(err) {
		case codes.OK:
			return nil
		case codes.NotFound:
			mu.Lock()
			defer mu.Unlock()
			missing = append(missing, topic)
			return nil
		}
		return fmt.Errorf("get topic %s: %w", topic, err)
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(missing)
	return missing, nil
}

// EnsureTopics creates those of topics (IDs without the project) that do not
// exist. Another instance may do the same at the same time.
func EnsureTopics(ctx context.Context, client *gpubsub.Client, topics []string) error {
	missing, err := MissingTopics(ctx, client, topics)
	if err != nil {
		return err
	}
	return eachTopic(ctx, missing, func(ctx context.Context, topic string) error {
		_, err := client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topicName(client, topic)})
		if err != nil && status.Code(err) != codes.AlreadyExists {
			return fmt.Errorf("create topic %s: %w", topic, err)
		}
		return nil
	})
}

// eachTopic calls f once for each different topic.
func eachTopic(ctx context.Context, topics []string, f func(context.Context, string) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(topicCalls)
	for _, topic := range slices.Compact(slices.Sorted(slices.Values(topics))) {
		g.Go(func() error { return f(ctx, topic) })
	}
	return g.Wait()
}

func topicName(client *gpubsub.Client, topic string) string {
	return "projects/" + client.Project() + "/topics/" + topic
}
