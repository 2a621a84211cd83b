package google

import (
	"context"
	"io"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
)

var pubsubComponent = component{
	name: "pubsub-emulator",
	jars: "platform/pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar",
}

// StartPubSub starts Google's Pub/Sub emulator and returns once it answers.
// What it prints goes to log; nil drops it. ctx bounds the start alone; the
// caller owns the emulator and calls Stop.
func StartPubSub(ctx context.Context, log io.Writer) (*Emulator, error) {
	found, err := Locate(ctx)
	if err != nil {
		return nil, err
	}
	jar, err := found.jar(pubsubComponent)
	if err != nil {
		return nil, err
	}
	return start(ctx, program{
		name: pubsubComponent.name,
		command: func(host, port string) []string {
			// Java itself, without the script that ships with it: one process, no shell in between.
			return []string{found.Java, "-Xmx1g", "-jar", jar, "--host=" + host, "--port=" + port}
		},
		probe: overGRPC(probePubSub),
	}, log)
}

func probePubSub(ctx context.Context, conn *grpc.ClientConn) error {
	_, err := pubsubpb.NewPublisherClient(conn).ListTopics(ctx, &pubsubpb.ListTopicsRequest{
		Project: "projects/probe", PageSize: 1,
	})
	return err
}
