package pubsub

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	gpubsub "cloud.google.com/go/pubsub/v2"
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
	target := c.target(t, c.topic(t), Settings{
		MaxMessages: 10, // each of which fills a request, however long it takes to hand them over
		Lanes:       map[contracts.Lane]contracts.LanePolicy{contracts.CriticalLane: {PublishDelay: time.Second}},
	})
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
	target := c.target(t, c.topic(t), Settings{
		Lanes: map[contracts.Lane]contracts.LanePolicy{contracts.CriticalLane: {PublishDelay: 20 * time.Millisecond}},
	})
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

// A key that is resumed while messages of it are queued lets them overtake the
// one that failed.
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

func TestAnswersAreWaitedForAfterTheContextHasEnded(t *testing.T) {
	c := setup(t)
	target := c.target(t, c.topic(t), Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	c.server.fail(func(context.Context, *pubsubpb.PublishRequest) error {
		cancel()
		return nil
	})
	got := answers(target.Deliver(ctx, parcels("key", 1, 1)))
	if diff := cmp.Diff([]string{"acked"}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestAnswersThatComeTooLateKeepTheKey(t *testing.T) {
	c := setup(t)
	const timeout = 3 * time.Second
	target := c.target(t, c.topic(t), Settings{MaxMessages: 1, Timeout: timeout})
	lane := target.lanes[contracts.CriticalLane]
	keys := lane.keys
	handed := make(chan struct{}) // closed when the client has all three
	put := lane.put
	lane.put = func(ctx context.Context, m *gpubsub.Message) *gpubsub.PublishResult {
		result := put(ctx, m)
		if string(m.Data) == "key/3" {
			close(handed)
		}
		return result
	}
	ctx, cancel := context.WithCancel(t.Context())
	hang := make(chan struct{})
	// The first request answers half-way through the wait after the stop, so
	// that the second still has time of its own when the wait is over.
	c.server.fail(func(rpc context.Context, req *pubsubpb.PublishRequest) error {
		switch dataOf(req.Messages)[0] {
		case "key/1":
			<-handed
			cancel()
			<-time.After(timeout / 2)
		case "key/2":
			select {
			case <-hang:
			case <-rpc.Done():
			}
			return status.Error(codes.ResourceExhausted, "scripted")
		}
		return nil
	})
	got := answers(target.Deliver(ctx, parcels("key", 1, 3)))
	if diff := cmp.Diff([]string{"acked", "outage Undrained", "behind"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if keys.size() != 1 {
		t.Error("the key was given away with answers still out")
	}
	close(hang)
	eventually(t, "the key is free again", func() bool { return keys.size() == 0 })
	got = answers(target.Deliver(t.Context(), parcels("key", 4, 6)))
	if diff := cmp.Diff([]string{"acked x3"}, got); diff != "" {
		t.Errorf("answers afterwards (-want +got):\n%s", diff)
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
