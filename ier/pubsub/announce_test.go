package pubsub

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	"outboxrelay/dlq/freezer"
)

var _ freezer.Alerts = (*Publisher)(nil)

func (c *cloud) publisher(t *testing.T, topic string, s Settings) *Publisher {
	t.Helper()
	p, err := NewPublisher(c.clients.Background(), topic, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Errorf("close publisher: %v", err)
		}
	})
	return p
}

func TestPublisherAwaitsTheAcknowledgement(t *testing.T) {
	c := setup(t)
	topic := c.topic(t)
	p := c.publisher(t, topic, Settings{})
	want := map[string]string{"type": "SECURITY_BLOCK"}
	if err := p.Publish(t.Context(), []byte("alert"), want); err != nil {
		t.Fatal(err)
	}
	got := c.messages(t, topic, 1)
	if len(got) != 1 || string(got[0].Data) != "alert" || !cmp.Equal(got[0].Attributes, want) {
		t.Errorf("got messages %v, want the alert", got)
	}
}

func TestPublisherTellsWhatAFailureMeans(t *testing.T) {
	c := setup(t)
	p := c.publisher(t, c.topic(t), Settings{Timeout: patience})
	for code, want := range map[codes.Code]contracts.Kind{
		codes.Unavailable: contracts.Outage, codes.PermissionDenied: contracts.Outage, codes.InvalidArgument: contracts.Permanent,
	} {
		c.server.fail(refuse("alert", code))
		err := p.Publish(t.Context(), []byte("alert"), nil)
		if err == nil || contracts.KindOf(err) != want {
			t.Errorf("%v: got %v of kind %v, want kind %v", code, err, contracts.KindOf(err), want)
		}
	}
	c.server.fail(nil)
	if err := p.Publish(t.Context(), []byte("alert"), nil); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	if err := p.Publish(t.Context(), make([]byte, 11<<20), nil); contracts.CodeOf(err) != codeTooLarge {
		t.Errorf("a message over the limit: got %v, want %s", err, codeTooLarge)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Publish(ended, []byte("alert"), nil); contracts.KindOf(err) != contracts.Outage {
		t.Errorf("got %v, want an outage", err)
	}
}

func TestPublisherRefusesWhatItCannotBe(t *testing.T) {
	c := setup(t)
	if _, err := NewPublisher(c.clients.Background(), "", Settings{}); err == nil {
		t.Error("got a publisher without a topic")
	}
	if _, err := NewPublisher(c.clients.Background(), "topic", Settings{Timeout: -1}); err == nil {
		t.Error("got a publisher with a negative timeout")
	}
}
