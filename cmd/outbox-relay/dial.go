package main

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local"
	ierpubsub "outboxrelay/ier/pubsub"
)

// Variables that send a Google client to an emulator.
const (
	envFirestoreHost = "FIRESTORE_EMULATOR_HOST"
	envPubSubHost    = "PUBSUB_EMULATOR_HOST"
	envAuthHost      = "FIREBASE_AUTH_EMULATOR_HOST"
)

// projectFlags name the database and the project.
type projectFlags struct {
	Project  string `env:"GOOGLE_CLOUD_PROJECT" placeholder:"ID" help:"Google Cloud project."`
	Database string `env:"FIRESTORE_DATABASE" default:"(default)" help:"Firestore database."`
}

// place is where a command's Firestore, Pub/Sub and Auth are.
type place struct {
	project, database       string
	firestore, pubsub, auth string // HOST:PORT of emulators; "": Google's own
}

// place reads the emulators' addresses. A project is needed in any case.
func (f projectFlags) place(env shell.Lookup) (place, error) {
	if f.Project == "" {
		return place{}, shell.Usagef("no project: set GOOGLE_CLOUD_PROJECT or --project")
	}
	return place{
		project: f.Project, database: f.Database,
		firestore: env.Get(envFirestoreHost), pubsub: env.Get(envPubSubHost), auth: env.Get(envAuthHost),
	}, nil
}

// keepFirestore notices a dead connection within 40 s, where TCP alone takes
// many minutes: a listener's stream sends nothing by itself. A healthy stream
// hears from its canary more often than this, so that only one that has gone
// quiet is pinged, as servers hang up on those who ping a lot.
var keepFirestore = keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}

// dialFirestore opens a client with connections of its own.
func (p place) dialFirestore(ctx context.Context) (*firestore.Client, error) {
	opts := []option.ClientOption{
		option.WithGRPCDialOption(grpc.WithKeepaliveParams(keepFirestore)),
		option.WithGRPCDialOption(grpc.WithConnectParams(ierpubsub.ConnectParams)),
	}
	if p.firestore != "" {
		opts = append(opts, local.FirestoreOptions(p.firestore)...)
	}
	client, err := firestore.NewClientWithDatabase(ctx, p.project, p.database, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to Firestore: %w", err)
	}
	return client, nil
}

// pubsubOptions are the client options that lead to the place's Pub/Sub.
func (p place) pubsubOptions() []option.ClientOption {
	if p.pubsub == "" {
		return nil
	}
	return local.ClientOptions(p.pubsub)
}

// dialPubSub opens a client for topics and subscriptions.
func (p place) dialPubSub(ctx context.Context) (*pubsub.Client, error) {
	client, err := pubsub.NewClient(ctx, p.project, p.pubsubOptions()...)
	if err != nil {
		return nil, fmt.Errorf("connect to Pub/Sub: %w", err)
	}
	return client, nil
}
