package pubsub

import (
	"context"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
)

// refuse answers code to each request that holds data.
func refuse(data string, code codes.Code) func(context.Context, *pubsubpb.PublishRequest) error {
	return func(_ context.Context, req *pubsubpb.PublishRequest) error {
		if slices.Contains(dataOf(req.Messages), data) {
			return status.Error(code, "scripted")
		}
		return nil
	}
}

func TestOutageInTheMiddleKeepsTheOrder(t *testing.T) {
	c := setup(t)
	target := c.target(t, c.topic(t), Settings{MaxMessages: 10})
	c.server.fail(refuse("key/11", codes.Unavailable))
	errs := target.Deliver(t.Context(), parcels("key", 1, 30))
	if diff := cmp.Diff([]string{"acked x10", "outage Unavailable", "behind x19"}, answers(errs)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	c.server.fail(nil)
	errs = target.Deliver(t.Context(), parcels("key", 11, 30))
	if diff := cmp.Diff([]string{"acked x20"}, answers(errs)); diff != "" {
		t.Errorf("answers after the outage (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(numbers("key", 1, 30), c.server.stored()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestOnePoisonMessageIsFound(t *testing.T) {
	tests := []struct {
		name   string
		code   codes.Code
		poison string
		want   []string
	}{
		{"permanent, in the middle", codes.InvalidArgument, "key/13", []string{"acked x12", "permanent InvalidArgument", "behind x7"}},
		{"attributable, in the middle", codes.DataLoss, "key/13", []string{"acked x12", "attributable DataLoss", "behind x7"}},
		{"first", codes.InvalidArgument, "key/1", []string{"permanent InvalidArgument", "behind x19"}},
		{"last", codes.InvalidArgument, "key/20", []string{"acked x19", "permanent InvalidArgument"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := setup(t)
			target := c.target(t, c.topic(t), Settings{})
			c.server.fail(refuse(test.poison, test.code))
			got := answers(target.Deliver(t.Context(), parcels("key", 1, 20)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			// What is behind the poison comes again without it, and only that.
			at := slices.Index(numbers("key", 1, 20), test.poison) + 1
			if at < 20 {
				errs := target.Deliver(t.Context(), parcels("key", at+1, 20))
				if slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
					t.Errorf("records behind the poison: %v", answers(errs))
				}
			}
			want := slices.Delete(numbers("key", 1, 20), at-1, at)
			if diff := cmp.Diff(want, c.server.stored()); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPoisonIsFoundInFewRequests(t *testing.T) {
	c := setup(t)
	target := c.target(t, c.topic(t), Settings{})
	c.server.fail(refuse("key/100", codes.InvalidArgument))
	target.Deliver(t.Context(), parcels("key", 1, 100))
	if got := len(c.server.seen()); got > 20 {
		t.Errorf("%d requests to find one of a hundred, want at most 20", got)
	}
}

func TestTextThatIsNotUTF8IsPermanent(t *testing.T) {
	c := setup(t)
	target := c.target(t, c.topic(t), Settings{})
	run := parcels("key", 1, 3)
	run[1].Message.Attributes["producer"] = "bad\xff"
	got := answers(target.Deliver(t.Context(), run))
	if diff := cmp.Diff([]string{"acked", "permanent InvalidText", "behind"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestMessageOverTheConnectionsLimitIsNoOutage(t *testing.T) {
	c := setup(t) // gRPC servers take 4 MiB unless told otherwise
	target := c.target(t, c.topic(t), Settings{})
	run := parcels("key", 1, 2)
	run[0].Message.Data = make([]byte, 5<<20)
	got := answers(target.Deliver(t.Context(), run))
	if diff := cmp.Diff([]string{"permanent TooLarge", "behind"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestRetryIsShort(t *testing.T) {
	tests := []struct {
		name     string
		failures int
		code     codes.Code
		want     string
		requests int
	}{
		{"one blip is not seen", 1, codes.Unavailable, "acked", 2},
		{"a second failure is told as it is", 9, codes.Unavailable, "outage Unavailable", 2},
		{"a quota is not pressed", 9, codes.ResourceExhausted, "outage ResourceExhausted", 1},
		{"a refusal is final", 9, codes.InvalidArgument, "permanent InvalidArgument", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := setup(t)
			target := c.target(t, c.topic(t), Settings{})
			left := test.failures
			c.server.fail(func(context.Context, *pubsubpb.PublishRequest) error {
				if left == 0 {
					return nil
				}
				left--
				return status.Error(test.code, "scripted")
			})
			got := answers(target.Deliver(t.Context(), parcels("key", 1, 1)))
			if diff := cmp.Diff([]string{test.want}, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if got := len(c.server.seen()); got != test.requests {
				t.Errorf("%d requests, want %d", got, test.requests)
			}
		})
	}
}

// The key is not given away between a call's requests.
func TestNothingOvertakesAFailureThatIsUnderWay(t *testing.T) {
	c := setup(t)
	target := c.target(t, c.topic(t), Settings{MaxMessages: 1})
	arrived, hang := make(chan struct{}, 10), make(chan struct{})
	c.server.fail(func(_ context.Context, req *pubsubpb.PublishRequest) error {
		if dataOf(req.Messages)[0] != "key/1" {
			return nil
		}
		arrived <- struct{}{}
		<-hang
		return status.Error(codes.ResourceExhausted, "scripted")
	})
	var wg sync.WaitGroup
	var first, second []error
	wg.Go(func() { first = target.Deliver(t.Context(), parcels("key", 1, 20)) })
	<-arrived
	wg.Go(func() { second = target.Deliver(t.Context(), parcels("key", 100, 104)) })
	eventually(t, "the second caller waits for the key", func() bool {
		keys := target.lanes[contracts.CriticalLane].keys
		keys.mu.Lock()
		defer keys.mu.Unlock()
		return keys.locks["key"] != nil && keys.locks["key"].users == 2
	})
	close(hang)
	wg.Wait()
	if diff := cmp.Diff([]string{"outage ResourceExhausted", "behind x19"}, answers(first)); diff != "" {
		t.Errorf("first answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"acked x5"}, answers(second)); diff != "" {
		t.Errorf("second answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(numbers("key", 100, 104), c.server.stored()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
