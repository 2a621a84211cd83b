package pubsub

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
)

func (c *cloud) ordered(t *testing.T, topic string, s Settings) *OrderedPublisher {
	t.Helper()
	p, err := NewOrderedPublisher(c.clients.Lane(contracts.CriticalLane), topic, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Errorf("close ordered publisher: %v", err)
		}
	})
	return p
}

func TestOrderedPublisherKeepsTheOrderOfAKey(t *testing.T) {
	everyCloud(t, func(t *testing.T, c *cloud) {
		const keys, each = 4, 10
		topic := c.topic(t)
		p := c.ordered(t, topic, Settings{})
		var wg sync.WaitGroup
		for k := range keys {
			wg.Go(func() {
				for n := range each {
					if err := p.PublishOrdered(t.Context(), fmt.Sprint("acc-", k), []byte{byte(n)}, map[string]string{"accountId": fmt.Sprint("acc-", k)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		next := map[string]byte{}
		for _, m := range c.messages(t, topic, keys*each) {
			if m.OrderingKey != m.Attributes["accountId"] || m.Data[0] != next[m.OrderingKey] {
				t.Errorf("message %d of %s with key %q, want number %d", m.Data[0], m.Attributes["accountId"], m.OrderingKey, next[m.OrderingKey])
			}
			next[m.OrderingKey]++
		}
		if len(next) != keys {
			t.Errorf("messages of %d keys, want %d", len(next), keys)
		}
	})
}

// A key that failed is not paused for ever, and its messages are counted.
func TestOrderedPublisherGoesOnAfterAFailure(t *testing.T) {
	c := setup(t)
	topic := c.topic(t)
	p := c.ordered(t, topic, Settings{Timeout: patience})
	for code, want := range map[codes.Code]contracts.Kind{
		codes.Unavailable: contracts.Outage, codes.PermissionDenied: contracts.Outage, codes.InvalidArgument: contracts.Permanent,
	} {
		c.server.fail(refuse("signal", code))
		err := p.PublishOrdered(t.Context(), "acc-1", []byte("signal"), nil)
		if err == nil || contracts.KindOf(err) != want {
			t.Errorf("%v: got %v of kind %v, want kind %v", code, err, contracts.KindOf(err), want)
		}
	}
	c.server.fail(nil)
	if err := p.PublishOrdered(t.Context(), "acc-1", []byte("signal"), nil); err != nil {
		t.Errorf("after the failures: %v", err)
	}
}

func TestOrderedPublisherRefusesWhatItCannotBe(t *testing.T) {
	c := setup(t)
	if _, err := NewOrderedPublisher(c.clients.Background(), "", Settings{}); err == nil {
		t.Error("got a publisher without a topic")
	}
	if _, err := NewOrderedPublisher(c.clients.Background(), "topic", Settings{Timeout: -1}); err == nil {
		t.Error("got a publisher with a negative timeout")
	}
}
