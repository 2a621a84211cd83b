package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/brokerproxy"
	"outboxrelay/deploy/local/rig"
)

// broker stands in front of Pub/Sub, whichever that is, for all relays. It
// refuses requests that hold a record which is to be refused, and fails calls
// when a fault says so. It outlives the relays.
type broker struct {
	*brokerproxy.Proxy
	truth *truth

	refusals atomic.Int64 // requests refused for a record in them
	failures atomic.Int64 // requests that Pub/Sub itself failed

	mu     sync.Mutex
	fault  publishFault
	random *rand.Rand             // of the fault
	passes map[string][]time.Time // when messages of an outbox passed, the latest of them
}

// refusalTakes is how long the broker takes to refuse a record. What follows a
// refusal is then more often under way when a fault strikes.
const refusalTakes = 50 * time.Millisecond

// passesKept of an outbox tell when it delivered again after a fault: several
// times what passes while one is made.
const passesKept = 4096

// publishFault makes a share of publish calls fail. The zero value: none.
type publishFault struct {
	share float64
	code  codes.Code
	lost  bool // the call takes effect, and only its answer is lost
}

func startBroker(upstream string, t *truth) (*broker, error) {
	b := &broker{truth: t, passes: map[string][]time.Time{}}
	proxy, err := brokerproxy.Start(upstream, b.publish)
	if err != nil {
		return nil, err
	}
	b.Proxy = proxy
	return b, nil
}

// suffer puts a fault in force, drawn from r; the zero fault ends it.
func (b *broker) suffer(f publishFault, r *rand.Rand) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault, b.random = f, r
}

// firstSince is when the first message of an outbox passed after a moment.
func (b *broker) firstSince(outbox string, from time.Time) (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, at := range b.passes[outbox] {
		if at.After(from) {
			return at, true
		}
	}
	return time.Time{}, false
}

func (b *broker) draw() (fault publishFault, strikes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fault, b.fault.share > 0 && b.random.Float64() < b.fault.share
}

func (b *broker) passed(messages []*pb.PubsubMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range messages {
		if outbox := m.Attributes[contracts.AttrOutbox]; outbox != "" {
			b.passes[outbox] = append(b.passes[outbox], time.Now())
		}
	}
	for outbox, times := range b.passes {
		if over := len(times) - passesKept; over > 0 {
			b.passes[outbox] = append(times[:0], times[over:]...)
		}
	}
}

// publish passes a request on, as a whole or not at all.
func (b *broker) publish(ctx context.Context, req *pb.PublishRequest, next brokerproxy.Publish) (*pb.PublishResponse, error) {
	fault, strikes := b.draw()
	if strikes && !fault.lost {
		return nil, status.Error(fault.code, "injected fault")
	}
	for _, m := range req.Messages {
		if code := b.truth.verdict(m.Attributes); code != codes.OK {
			b.refusals.Add(1)
			rig.Sleep(ctx, refusalTakes)
			return nil, status.Error(code, "the run refuses this record")
		}
	}
	resp, err := next(ctx, req)
	if err != nil {
		b.failures.Add(1)
		return nil, err
	}
	b.passed(req.Messages)
	if strikes {
		return nil, status.Error(fault.code, "injected fault: the answer is lost")
	}
	return resp, nil
}
