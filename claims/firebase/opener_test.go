package firebase

import (
	"context"
	"errors"
	"testing"
)

// Whoever waits for credentials that take their time may leave; the look goes on, and
// the next one has what it finds.
func TestLookForCredentialsIsNotWaitedForWithoutEnd(t *testing.T) {
	a, err := Open(t.Context(), "my-project", WithEmulator("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	begun, found := make(chan struct{}), make(chan *toolkit)
	a.opener.find = func() (*toolkit, error) {
		close(begun)
		return <-found, nil
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- a.Ready(ctx) }()
	<-begun
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("left with %v, want %v", err, context.Canceled)
	}
	client := new(toolkit)
	found <- client
	if got, err := a.opener.client(t.Context()); got != client || err != nil {
		t.Errorf("got %p, %v; want what the look found", got, err)
	}
}
