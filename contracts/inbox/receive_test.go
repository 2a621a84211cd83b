package inbox_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"outboxrelay/contracts/inbox"
)

// Google's client alone does not return here before Pub/Sub is back.
func TestReceiveEndsWhilePubSubIsAway(t *testing.T) {
	nobody, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	client, err := pubsub.NewClient(t.Context(), "p", option.WithEndpoint(nobody.Addr().String()),
		option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	box := inbox.New(inbox.NewMemory(), "c", inbox.Options{Grace: 10 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- box.Receive(ctx, client.Subscriber("s"), box.Handle(func(context.Context, *inbox.Event) error { return nil }))
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, inbox.ErrUnanswered) {
			t.Errorf("Receive returns %v, want that Pub/Sub does not answer", err)
		}
	case <-time.After(time.Minute):
		t.Error("Receive does not end")
	}
}
