// Package gcp leads a command to the Firestore, Pub/Sub and Auth of a project:
// Google's own, or emulators of them.
package gcp

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"outboxrelay/deploy/local"
	dlqfirestore "outboxrelay/dlq/firestore"
	ierpubsub "outboxrelay/ier/pubsub"
)

// Variables that send a Google client to an emulator.
const (
	EnvFirestore = "FIRESTORE_EMULATOR_HOST"
	EnvPubSub    = "PUBSUB_EMULATOR_HOST"
	EnvAuth      = "FIREBASE_AUTH_EMULATOR_HOST"
)

// Place is where a command's Firestore, Pub/Sub and Auth are.
type Place struct {
	Project, Database       string
	Firestore, PubSub, Auth string // HOST:PORT of emulators; "": Google's own
}

// keepFirestore notices a dead connection within 40 s, where TCP alone takes
// many minutes: a listener's stream sends nothing by itself. A healthy stream
// hears from its canary more often than this, so that only one that has gone
// quiet is pinged, as servers hang up on those who ping a lot.
var keepFirestore = keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}

// DialFirestore opens a client with a connection of its own, which the caller closes.
func (p Place) DialFirestore(ctx context.Context) (*dlqfirestore.Client, error) {
	opts := []option.ClientOption{
		option.WithGRPCDialOption(grpc.WithKeepaliveParams(keepFirestore)),
		option.WithGRPCDialOption(grpc.WithConnectParams(ierpubsub.ConnectParams)),
		option.WithGRPCDialOption(ierpubsub.OwnBuffers),
	}
	for _, window := range windows {
		opts = append(opts, option.WithGRPCDialOption(window))
	}
	if p.Firestore != "" {
		opts = append(opts, local.FirestoreOptions(p.Firestore)...)
	}
	client, err := dlqfirestore.Open(ctx, p.Project, p.Database, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to Firestore: %w", err)
	}
	return client, nil
}

// PubSubOptions are the client options that lead to the place's Pub/Sub.
func (p Place) PubSubOptions() []option.ClientOption {
	if p.PubSub == "" {
		return nil
	}
	return local.ClientOptions(p.PubSub)
}

// DialPubSub opens a client for topics and subscriptions, which the caller closes.
func (p Place) DialPubSub(ctx context.Context) (*pubsub.Client, error) {
	client, err := pubsub.NewClient(ctx, p.Project, p.PubSubOptions()...)
	if err != nil {
		return nil, fmt.Errorf("connect to Pub/Sub: %w", err)
	}
	return client, nil
}
