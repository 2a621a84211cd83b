package rig

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"

	"outboxrelay/deploy/local"
	ierpubsub "outboxrelay/ier/pubsub"
)

// Clients are a run's own, past whatever stands between the cloud and a relay.
type Clients struct {
	Docs     *firestore.Client
	Messages *pubsub.Client
}

// Connect returns clients of a project of the cloud, once it has the topics. Its
// caller calls Close.
func (c *Cloud) Connect(ctx context.Context, project string, topics []string) (*Clients, error) {
	docs, err := firestore.NewClient(ctx, project, local.FirestoreOptions(c.Firestore)...)
	if err != nil {
		return nil, fmt.Errorf("connect to Firestore: %w", err)
	}
	messages, err := pubsub.NewClient(ctx, project, local.ClientOptions(c.PubSub)...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to Pub/Sub: %w", err), docs.Close())
	}
	clients := &Clients{docs, messages}
	if err := ierpubsub.EnsureTopics(ctx, messages, topics); err != nil {
		return nil, errors.Join(err, clients.Close())
	}
	return clients, nil
}

// Close ends the connections.
func (c *Clients) Close() error { return errors.Join(c.Docs.Close(), c.Messages.Close()) }
