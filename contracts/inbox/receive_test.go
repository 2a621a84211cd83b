package inbox_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"go.uber.org/goleak"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"outboxrelay/contracts/inbox"
)

// Google's client alone does not return here before Pub/Sub is back.
func TestReceiveEndsWhilePubSubIsAway(t *testing.T) {
	before := goleak.IgnoreCurrent()
	away, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // nobody answers there
	if err != nil {
		t.Fatal(err)
	}
	client, err := pubsub.NewClient(t.Context(), "p", option.WithEndpoint(away.Addr().String()),
		option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
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
	back := grpc.NewServer() // it refuses what it is asked for, and Google's client ends
	go func() { _ = back.Serve(away) }()
	for deadline := time.Now().Add(time.Minute); goleak.Find(before, googlesKeepAlive) != nil && time.Now().Before(deadline); {
		_ = client.Close() // once it is closed it says so
		back.Stop()
	}
}
