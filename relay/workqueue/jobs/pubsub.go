package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"outboxrelay/relay/workqueue"
)

// PubSub is channel pubsub: a message of a topic for each job.
type PubSub struct {
	client *pubsub.Client
	topic  string // projects/PROJECT/topics/TOPIC
}

// NewPubSub returns the channel. The client stays the caller's.
func NewPubSub(client *pubsub.Client, topic string) *PubSub {
	return &PubSub{client, fmt.Sprintf("projects/%s/topics/%s", client.Project(), topic)}
}

// Tells implements Channel: of a publish whose answer did not come nothing is known.
func (*PubSub) Tells() bool { return false }

// Send implements Channel. The publish is one request, which is not tried again:
// the message is at the topic at most once.
func (p *PubSub) Send(ctx context.Context, m Message) ([]workqueue.Create, error) {
	text := func(field string) string { s, _ := m.Job[field].(string); return s }
	data, err := json.Marshal(map[string]any{
		"id": m.Key, "orgId": m.OrgID, "recipientId": m.RecipientID, "templateId": text("templateId"), "title": m.Title, "body": m.Body,
		"eventId": text("eventId"), "eventType": text("eventType"), "entityType": text("entityType"), "entityId": text("entityId"),
	})
	if err != nil {
		return nil, workqueue.Permanent(codeTemplate, err)
	}
	var server peer.Peer // stays empty unless the request was given to a connection
	_, err = p.client.TopicAdminClient.Publish(ctx, &pubsubpb.PublishRequest{Topic: p.topic, Messages: []*pubsubpb.PubsubMessage{{
		Data: data, Attributes: map[string]string{"jobType": text("jobType"), "eventId": text("eventId"), "eventType": text("eventType"), "orgId": m.OrgID},
	}}}, gax.WithRetry(func() gax.Retryer { return nil }), gax.WithGRPCOptions(grpc.Peer(&server)))
	if err != nil && server.Addr == nil {
		return nil, workqueue.Coded(codeFailed, fmt.Errorf("publish: no connection: %w", err))
	}
	switch status.Code(err) {
	case codes.OK:
		return nil, nil
	case codes.InvalidArgument:
		return nil, workqueue.Permanent(codeRefused, fmt.Errorf("publish: %w", err))
	case codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition, codes.ResourceExhausted, codes.Unimplemented:
		return nil, workqueue.Coded(codeFailed, fmt.Errorf("publish: %w", err))
	default: // the answer did not come
		return nil, MaybeSent(fmt.Errorf("publish: %w", err))
	}
}
