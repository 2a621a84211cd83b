package pubsub

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
)

// A request that is out when the context ends is waited for, so that nobody
// else has the key meanwhile; what was not sent yet stays unsent.
func TestTheRequestUnderWayIsWaitedForAfterTheContextHasEnded(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer error
		want   []string
		stored []string
	}{
		{"acknowledged", nil, []string{"acked", "outage Canceled", "behind"}, []string{"key/1", "other/1"}},
		{"refused", status.Error(codes.InvalidArgument, "scripted"), []string{"permanent InvalidArgument", "behind x2"}, []string{"other/1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := setup(t)
			target := c.target(t, c.topic(t), Settings{MaxMessages: 1, Timeout: patience})
			keys := target.lanes[contracts.CriticalLane].keys
			ctx, cancel := context.WithCancel(t.Context())
			hang := make(chan struct{})
			c.server.fail(func(rpc context.Context, req *pubsubpb.PublishRequest) error {
				if dataOf(req.Messages)[0] != "key/1" {
					return nil
				}
				cancel()
				select {
				case <-hang:
					return test.answer
				case <-rpc.Done():
					return rpc.Err()
				}
			})
			var wg sync.WaitGroup
			var got []error
			wg.Go(func() { got = target.Deliver(ctx, parcels("key", 1, 3)) })
			<-ctx.Done()
			if errs := target.Deliver(t.Context(), parcels("other", 1, 1)); errs[0] != nil {
				t.Errorf("another key: %v", errs[0])
			}
			if keys.size() != 1 {
				t.Error("the key was given away with an answer still out")
			}
			close(hang)
			wg.Wait()
			if diff := cmp.Diff(test.want, answers(got)); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.stored, slices.Sorted(slices.Values(c.server.stored()))); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// What has no answer within the timeout is an outage, and the key free again.
func TestARequestWithoutAnAnswerEnds(t *testing.T) {
	c := setup(t)
	target := c.target(t, c.topic(t), Settings{Timeout: 50 * time.Millisecond})
	c.server.fail(func(rpc context.Context, _ *pubsubpb.PublishRequest) error {
		<-rpc.Done()
		return rpc.Err()
	})
	got := answers(target.Deliver(t.Context(), parcels("key", 1, 3)))
	if diff := cmp.Diff([]string{"outage DeadlineExceeded", "behind x2"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if n := target.lanes[contracts.CriticalLane].keys.size(); n != 0 {
		t.Errorf("%d keys are held, want 0", n)
	}
}

func TestCallerThatWaitsForAKeyGivesUpWithItsContext(t *testing.T) {
	c := setup(t)
	target := c.target(t, c.topic(t), Settings{})
	arrived, hang := make(chan struct{}), make(chan struct{})
	c.server.fail(func(context.Context, *pubsubpb.PublishRequest) error {
		close(arrived)
		<-hang
		return nil
	})
	var wg sync.WaitGroup
	wg.Go(func() { target.Deliver(t.Context(), parcels("key", 1, 1)) })
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := answers(target.Deliver(ctx, parcels("key", 2, 3)))
	if diff := cmp.Diff([]string{"outage Canceled", "behind"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	close(hang)
	wg.Wait()
}

func TestCloseKeepsItsDeadline(t *testing.T) {
	c := setup(t)
	target, err := NewTarget(c.clients, c.topic(t), Settings{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan struct{}, 1)
	c.server.fail(func(ctx context.Context, _ *pubsubpb.PublishRequest) error {
		arrived <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	var wg sync.WaitGroup
	var got []error
	wg.Go(func() { got = target.Deliver(t.Context(), parcels("key", 1, 2)) })
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := target.Close(ctx); err == nil {
		t.Error("Close reported success with a request under way")
	}
	wg.Wait()
	if diff := cmp.Diff([]string{"outage DeadlineExceeded", "behind"}, answers(got)); diff != "" {
		t.Errorf("answers of the call under way (-want +got):\n%s", diff)
	}
	c.server.fail(nil)
	if diff := cmp.Diff([]string{"outage Stopped", "behind"}, answers(target.Deliver(t.Context(), parcels("key", 1, 2)))); diff != "" {
		t.Errorf("answers after Close (-want +got):\n%s", diff)
	}
	if err := target.Close(t.Context()); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestCloseWaitsForTheRequestsUnderWay(t *testing.T) {
	c := setup(t)
	target, err := NewTarget(c.clients, c.topic(t), Settings{MaxMessages: 2, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	const callers = 3
	arrived, hang := make(chan struct{}, callers), make(chan struct{})
	c.server.fail(func(context.Context, *pubsubpb.PublishRequest) error {
		arrived <- struct{}{}
		<-hang
		return nil
	})
	got := make([][]string, callers)
	var calls, closing sync.WaitGroup
	for i := range callers {
		calls.Go(func() { got[i] = answers(target.Deliver(t.Context(), parcels(fmt.Sprint(i), 1, 5))) })
	}
	for range callers {
		<-arrived
	}
	closed := make(chan struct{})
	closing.Go(func() {
		defer close(closed)
		if err := target.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	p := target.lanes[contracts.CriticalLane]
	eventually(t, "the publisher takes no more", func() bool {
		p.mu.RLock()
		defer p.mu.RUnlock()
		return p.stopped
	})
	select {
	case <-closed:
		t.Error("Close returned with requests under way")
	default:
	}
	close(hang)
	closing.Wait()
	calls.Wait()
	for i := range callers { // a call's next request is not begun
		if diff := cmp.Diff([]string{"acked x2", "outage Stopped", "behind x2"}, got[i]); diff != "" {
			t.Errorf("answers of call %d (-want +got):\n%s", i, diff)
		}
	}
	if n := len(c.server.seen()); n != callers {
		t.Errorf("%d requests, want %d", n, callers)
	}
}
