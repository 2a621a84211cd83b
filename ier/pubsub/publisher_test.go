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
	"outboxrelay/ier"
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

// tripped has a router whose breaker just opened over a target that refuses
// everything, and a function that delivers one record.
func tripped(t *testing.T, openFor time.Duration) (c *cloud, router *ier.Router, deliver func(n int) ier.Outcome) {
	t.Helper()
	c = setup(t)
	router, err := ier.New(ier.Config{
		Targets: map[string]ier.Target{"TARGET": c.target(t, c.topic(t), Settings{})},
		Breaker: ier.BreakerConfig{OpenFor: openFor},
	})
	if err != nil {
		t.Fatal(err)
	}
	deliver = func(n int) ier.Outcome {
		rec := parcels("key", n, n)[0].Record
		return router.Deliver(t.Context(), []*ier.Job{{
			Record: rec, Data: []byte(rec.EventID), Lane: contracts.CriticalLane, Targets: []string{"TARGET"}, Attempt: 1,
		}})[0]
	}
	c.server.fail(func(context.Context, *pubsubpb.PublishRequest) error {
		return status.Error(codes.PermissionDenied, "scripted")
	})
	for n := 1; !router.Open("TARGET"); n++ {
		deliver(n)
	}
	if got := len(c.server.seen()); got != 5 {
		t.Errorf("the breaker opened after %d requests, want 5", got)
	}
	return c, router, deliver
}

func TestNoRequestReachesATargetThatIsDown(t *testing.T) {
	c, _, deliver := tripped(t, time.Hour)
	for n := range 20 {
		if diff := cmp.Diff(ier.Outcome{Blocked: []string{"TARGET"}}, deliver(n)); diff != "" {
			t.Errorf("outcome (-want +got):\n%s", diff)
		}
	}
	if got := len(c.server.seen()); got != 5 {
		t.Errorf("%d requests reached an open target, want 0", got-5)
	}
}

func TestOneProbeFindsTheTargetUpAgain(t *testing.T) {
	c, router, deliver := tripped(t, 20*time.Millisecond)
	c.server.fail(nil)
	eventually(t, "the probe is due", func() bool { return !router.NextProbe("TARGET").After(time.Now()) })
	if got := deliver(6); !got.Done() {
		t.Errorf("the probe failed: %+v", got)
	}
	if got := len(c.server.seen()); got != 6 || router.Open("TARGET") {
		t.Errorf("open is %v after %d probes, want false after 1", router.Open("TARGET"), got-5)
	}
}
