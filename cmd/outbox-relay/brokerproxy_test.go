package main

import (
	"context"
	"sync"
	"testing"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/brokerproxy"
)

// brokerProxy stands between a service and its Pub/Sub, whichever that is, and
// refuses messages of chosen aggregates.
type brokerProxy struct {
	addr string

	mu      sync.Mutex
	refused map[string]bool          // aggregates
	all     bool                     // every aggregate is refused
	hung    map[string]chan struct{} // aggregates whose messages wait until it is closed
	seen    map[string]int           // messages of each aggregate
}

func startBrokerProxy(t *testing.T, broker string) *brokerProxy {
	t.Helper()
	p := &brokerProxy{refused: map[string]bool{}, hung: map[string]chan struct{}{}, seen: map[string]int{}}
	proxy, err := brokerproxy.Start(broker, p.publish)
	if err != nil {
		t.Fatal(err)
	}
	p.addr = proxy.Addr
	t.Cleanup(func() { _ = proxy.Close() })
	return p
}

// refuse lets every message of these aggregates fail from now on.
func (p *brokerProxy) refuse(aggregates ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range aggregates {
		p.refused[a] = true
	}
}

// hang lets the messages of an aggregate wait until resume is called.
func (p *brokerProxy) hang(aggregate string) (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gate := make(chan struct{})
	p.hung[aggregate] = gate
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.hung, aggregate)
		close(gate)
	}
}

// gate is what a request has to wait for; nil: nothing.
func (p *brokerProxy) gate(req *pb.PublishRequest) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range req.Messages {
		if gate, ok := p.hung[m.Attributes[contracts.AttrAggregateID]]; ok {
			return gate
		}
	}
	return nil
}

// met is how many messages of an aggregate came to it, whatever became of them.
func (p *brokerProxy) met(aggregate string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[aggregate]
}

func (p *brokerProxy) meet(req *pb.PublishRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range req.Messages {
		p.seen[m.Attributes[contracts.AttrAggregateID]]++
	}
}

// refuseAll refuses every aggregate's messages for good: what counts as an attempt
// would be an outage if all were refused so.
func (p *brokerProxy) refuseAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = true
}

// accept lets these aggregates' messages pass again; all of them without one.
func (p *brokerProxy) accept(aggregates ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range aggregates {
		delete(p.refused, a)
	}
	if len(aggregates) == 0 {
		clear(p.refused)
		p.all = false
	}
}

// refuses returns what a request is refused with. Messages of the service's own,
// which have no record, always pass.
func (p *brokerProxy) refuses(req *pb.PublishRequest) codes.Code {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range req.Messages {
		switch {
		case m.Attributes[contracts.AttrIdempotencyKey] == "":
		case p.refused[m.Attributes[contracts.AttrAggregateID]]:
			return codes.Internal
		case p.all:
			return codes.InvalidArgument
		}
	}
	return codes.OK
}

func (p *brokerProxy) publish(ctx context.Context, req *pb.PublishRequest, next brokerproxy.Publish) (*pb.PublishResponse, error) {
	p.meet(req)
	if code := p.refuses(req); code != codes.OK {
		return nil, status.Error(code, "the test refuses this aggregate")
	}
	if gate := p.gate(req); gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	return next(ctx, req)
}
