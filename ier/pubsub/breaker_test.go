package pubsub

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

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
		}}, nil)[0]
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
	eventually(t, "the probe is due", func() bool { return !router.NextProbe("TARGET", &contracts.Record{}).After(time.Now()) })
	if got := deliver(6); len(got.Acked) != 1 {
		t.Errorf("the probe failed: %+v", got)
	}
	if got := len(c.server.seen()); got != 6 || router.Open("TARGET") {
		t.Errorf("open is %v after %d probes, want false after 1", router.Open("TARGET"), got-5)
	}
}
