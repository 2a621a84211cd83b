package main

import (
	"context"
	"net"
	"sync"
	"testing"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"outboxrelay/contracts"
)

// brokerProxy stands between a service and its Pub/Sub, whichever that is, and
// refuses messages of chosen aggregates.
type brokerProxy struct {
	pb.UnimplementedPublisherServer
	broker pb.PublisherClient
	addr   string

	mu      sync.Mutex
	refused map[string]bool          // aggregates
	all     bool                     // every aggregate is refused
	hung    map[string]chan struct{} // aggregates whose messages wait until it is closed
}

func startBrokerProxy(t *testing.T, broker string) *brokerProxy {
	t.Helper()
	conn, err := grpc.NewClient(broker, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &brokerProxy{broker: pb.NewPublisherClient(conn), addr: lis.Addr().String(), refused: map[string]bool{}, hung: map[string]chan struct{}{}}
	server := grpc.NewServer()
	pb.RegisterPublisherServer(server, p)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(lis)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
		_ = conn.Close()
	})
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

// refuseAll is refuse for every aggregate.
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

func (p *brokerProxy) refuses(req *pb.PublishRequest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range req.Messages {
		// Messages of the service's own, which have no record, always pass.
		if m.Attributes[contracts.AttrIdempotencyKey] != "" && (p.all || p.refused[m.Attributes[contracts.AttrAggregateID]]) {
			return true
		}
	}
	return false
}

// onward carries the caller's metadata on: the routing header is among it.
func onward(ctx context.Context) context.Context {
	md, _ := metadata.FromIncomingContext(ctx)
	return metadata.NewOutgoingContext(ctx, md)
}

func (p *brokerProxy) Publish(ctx context.Context, req *pb.PublishRequest) (*pb.PublishResponse, error) {
	if p.refuses(req) {
		return nil, status.Error(codes.Internal, "the test refuses this aggregate")
	}
	if gate := p.gate(req); gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	return p.broker.Publish(onward(ctx), req)
}

func (p *brokerProxy) CreateTopic(ctx context.Context, req *pb.Topic) (*pb.Topic, error) {
	return p.broker.CreateTopic(onward(ctx), req)
}

func (p *brokerProxy) GetTopic(ctx context.Context, req *pb.GetTopicRequest) (*pb.Topic, error) {
	return p.broker.GetTopic(onward(ctx), req)
}

func (p *brokerProxy) ListTopics(ctx context.Context, req *pb.ListTopicsRequest) (*pb.ListTopicsResponse, error) {
	return p.broker.ListTopics(onward(ctx), req)
}

func (p *brokerProxy) DeleteTopic(ctx context.Context, req *pb.DeleteTopicRequest) (*emptypb.Empty, error) {
	return p.broker.DeleteTopic(onward(ctx), req)
}
